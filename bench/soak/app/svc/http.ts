import {httpRouter} from 'svc/server';
import {httpAction} from './_generated/server';

const http = httpRouter();

http.route({
  path: '/echo',
  method: 'POST',
  handler: httpAction(async (_ctx, request) => new Response(await request.text())),
});

export default http;
