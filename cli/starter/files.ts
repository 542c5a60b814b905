/**
 * The files of `svc init`: a small app with a schema, a query, a mutation and a route. Path → text.
 * @param svc the reference to this package in the app's package.json
 */
export function starterFiles(name: string, svc: string): Record<string, string> {
  return {
    'package.json': `${JSON.stringify(
      {
        name,
        private: true,
        type: 'module',
        scripts: {dev: 'svc dev', deploy: 'svc deploy'},
        dependencies: {svc},
        devDependencies: {typescript: '^5.9.0 || ^7.0.0'},
      },
      null,
      2,
    )}\n`,
    'svc.json': `${JSON.stringify({tenant: name}, null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(
      {
        compilerOptions: {
          target: 'es2022',
          module: 'esnext',
          moduleResolution: 'bundler',
          lib: ['es2023', 'dom', 'dom.iterable'],
          types: [],
          strict: true,
          skipLibCheck: true,
          noEmit: true,
        },
        include: ['svc'],
      },
      null,
      2,
    )}\n`,
    '.gitignore': 'node_modules\n',
    'README.md': `# ${name}

Functions in \`svc/\`, deployed to the tenant \`${name}\` of an svc server.

- \`npx svc dev\` deploys them, and again after every change, and shows what they log
- \`npx svc run tasks:add '{"text": "try svc"}'\` calls one
- \`npx svc data tasks\` shows the documents

The commands find the token of your server on this machine by themselves; for another one, put its address into \`svc.json\`
(\`"url"\`) and its token into the variable \`SVC_ACCESS_TOKEN\`.

Clients call them at \`http://127.0.0.1:3210/svc/${name}\`.
`,
    'svc/schema.ts': `import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  tasks: defineTable({text: v.string(), done: v.boolean()}).index('by_done', ['done']),
});
`,
    'svc/tasks.ts': `import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

export const open = query({
  args: {},
  handler: async ctx =>
    await ctx.db
      .query('tasks')
      .withIndex('by_done', q => q.eq('done', false))
      .collect(),
});

export const add = mutation({
  args: {text: v.string()},
  handler: async (ctx, {text}) => await ctx.db.insert('tasks', {text, done: false}),
});

export const finish = mutation({
  args: {id: v.id('tasks')},
  handler: async (ctx, {id}) => {
    await ctx.db.patch(id, {done: true});
  },
});
`,
    'svc/http.ts': `import {httpRouter} from 'svc/server';
import {api} from './_generated/api';
import {httpAction} from './_generated/server';

const http = httpRouter();

/** GET /svc/${name}/http/open: how many tasks are open. */
http.route({
  path: '/open',
  method: 'GET',
  handler: httpAction(async ctx => {
    const tasks = await ctx.runQuery(api.tasks.open, {});
    return Response.json({open: tasks.length});
  }),
});

export default http;
`,
  };
}
