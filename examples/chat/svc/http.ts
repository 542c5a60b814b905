import {httpRouter} from 'svc/server';
import {internal} from './_generated/api';
import {httpAction} from './_generated/server';

const http = httpRouter();

/** Other systems post here: POST /webhook/general {"author": "ci", "text": "build 12 is green"} */
http.route({
  pathPrefix: '/webhook/',
  method: 'POST',
  handler: httpAction(async (ctx, request) => {
    const channel = new URL(request.url).pathname.split('/').at(-1) ?? '';
    const {author, text} = (await request.json()) as {author?: unknown; text?: unknown};
    if (typeof author !== 'string' || typeof text !== 'string') {
      return Response.json({error: 'author and text are strings'}, {status: 400});
    }
    const id = await ctx.runMutation(internal.messages.sendTo, {channel, author, text});
    if (id === null) return Response.json({error: `there is no channel ${channel}`}, {status: 404});
    return Response.json({id}, {status: 201});
  }),
});

/** The whole channel as text, a line a message: GET /export/general */
http.route({
  pathPrefix: '/export/',
  method: 'GET',
  handler: httpAction(async (ctx, request) => {
    const channel = new URL(request.url).pathname.split('/').at(-1) ?? '';
    const messages = await ctx.runQuery(internal.messages.inChannel, {channel});
    if (messages === null) return new Response('no such channel\n', {status: 404});
    const lines = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        for (const {author, text} of messages) controller.enqueue(encoder.encode(`${author}: ${text}\n`));
        controller.close();
      },
    });
    return new Response(lines, {headers: {'content-type': 'text/plain; charset=utf-8'}});
  }),
});

export default http;
