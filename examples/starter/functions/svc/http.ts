import {httpRouter} from 'svc/server';
import {api} from './_generated/api';
import {httpAction} from './_generated/server';

const http = httpRouter();

/** GET /svc/my-app/http/open: how many tasks are open. */
http.route({
  path: '/open',
  method: 'GET',
  handler: httpAction(async ctx => {
    const tasks = await ctx.runQuery(api.tasks.open, {});
    return Response.json({open: tasks.length});
  }),
});

export default http;
