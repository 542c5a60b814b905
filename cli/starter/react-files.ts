/**
 * The files of `svc init --template react`: the functions of a shared list of tasks, and a page that shows it, built
 * and served by Vite ([0033](../../docs/decisions/0033-vite-serves-the-page.md)). Path → text.
 * @param svc the reference to this package in the app's package.json
 */
export function reactStarterFiles(name: string, svc: string): Record<string, string> {
  return {
    'package.json': json({
      name,
      private: true,
      type: 'module',
      scripts: {
        dev: 'svc dev --local --start vite',
        build: 'vite build',
        deploy: 'svc deploy',
        typecheck: 'tsc',
      },
      dependencies: {react: '^19.0.0', 'react-dom': '^19.0.0', svc},
      devDependencies: {
        '@types/react': '^19.0.0',
        '@types/react-dom': '^19.0.0',
        '@vitejs/plugin-react': '^6.0.0',
        typescript: '^5.9.0 || ^7.0.0',
        vite: '^8.0.0',
      },
    }),
    'svc.json': json({tenant: name}),
    'tsconfig.json': json({
      compilerOptions: {...COMPILER_OPTIONS, types: ['vite/client'], jsx: 'react-jsx'},
      include: ['src', 'svc', 'vite.config.ts'],
    }),
    'svc/tsconfig.json': json({compilerOptions: {...COMPILER_OPTIONS, types: []}, include: ['.']}),
    '.gitignore': 'node_modules\ndist\n.svc\n',
    'README.md': readme(name),
    'index.html': `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <title>${name}</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/src/main.tsx"></script>
  </body>
</html>
`,
    'vite.config.ts': `import react from '@vitejs/plugin-react';
import {defineConfig} from 'vite';

export default defineConfig({
  plugins: [react()],
  // svc may be a link to where it was cloned: its hooks use the React of this project all the same.
  resolve: {dedupe: ['react']},
  optimizeDeps: {include: ['svc/react', 'svc/server']},
  server: {
    // The data and the tokens of the server that svc dev starts: not to be watched or served. The other entries are Vite's defaults.
    watch: {ignored: ['**/.svc/**']},
    fs: {deny: ['.env', '.env.*', '*.{crt,pem}', '**/.git/**', '**/.svc/**']},
  },
});
`,
    'src/main.tsx': `import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProvider, SvcReactClient} from 'svc/react';
import {App} from './App';
import {ErrorBoundary} from './ErrorBoundary';
import './style.css';

// svc dev sets it for what it starts; for a build, set it to where the deployment will be: https://example.com/svc/TENANT
const client = new SvcReactClient(import.meta.env.VITE_SVC_URL);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <SvcProvider client={client}>
      <ErrorBoundary>
        <App />
      </ErrorBoundary>
    </SvcProvider>
  </StrictMode>,
);
`,
    'src/App.tsx': APP,
    'src/ErrorBoundary.tsx': ERROR_BOUNDARY,
    'src/style.css': STYLE,
    'svc/schema.ts': `import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  tasks: defineTable({text: v.string(), done: v.boolean()}),
});
`,
    'svc/tasks.ts': `import {v} from 'svc/values';
import {mutation, query} from './_generated/server';

export const list = query({
  args: {},
  handler: async ctx => await ctx.db.query('tasks').order('desc').take(100),
});

export const add = mutation({
  args: {text: v.string()},
  handler: async (ctx, {text}) => await ctx.db.insert('tasks', {text, done: false}),
});

export const setDone = mutation({
  args: {id: v.id('tasks'), done: v.boolean()},
  handler: async (ctx, {id, done}) => {
    await ctx.db.patch(id, {done});
  },
});
`,
  };
}

const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

const APP = `import {type FormEvent, useState} from 'react';
import {useMutation, useQuery, useSvcConnectionState} from 'svc/react';
import {api} from '../svc/_generated/api';

export function App() {
  const {isWebSocketConnected} = useSvcConnectionState();
  const tasks = useQuery(api.tasks.list);
  const [problem, setProblem] = useState<string | null>(null);
  const setDone = useMutation(api.tasks.setDone).withOptimisticUpdate((store, {id, done}) => {
    const before = store.getQuery(api.tasks.list);
    if (before === undefined) return;
    store.setQuery(
      api.tasks.list,
      {},
      before.map(task => (task._id === id ? {...task, done} : task)),
    );
  });

  // A call that fails rejects: the page shows why.
  const attempt = async (call: () => Promise<unknown>) => {
    setProblem(null);
    try {
      await call();
    } catch (caught) {
      setProblem(String(caught));
    }
  };

  return (
    <main>
      <h1>Tasks</h1>
      <p>Open this page in a second window: both show the same, always.</p>
      <NewTask attempt={attempt} />
      {problem !== null && <pre role="alert">{problem}</pre>}
      <ul>
        {tasks?.map(({_id, text, done}) => (
          <li key={_id}>
            <label>
              <input
                type="checkbox"
                checked={done}
                onChange={() => attempt(() => setDone({id: _id, done: !done}))}
              />
              <span className={done ? 'done' : ''}>{text}</span>
            </label>
          </li>
        ))}
      </ul>
      <footer>{tasks === undefined || !isWebSocketConnected ? 'connecting …' : 'up to date'}</footer>
    </main>
  );
}

function NewTask({attempt}: {attempt: (call: () => Promise<unknown>) => Promise<void>}) {
  const add = useMutation(api.tasks.add);
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '') return;
    setText('');
    return attempt(() => add({text: text.trim()}));
  };
  return (
    <form onSubmit={submit}>
      <input aria-label="New task" placeholder="What is to be done?" value={text} onChange={event => setText(event.target.value)} />
      <button type="submit">Add</button>
    </form>
  );
}
`;

const ERROR_BOUNDARY = `import {Component, type ReactNode} from 'react';

/** useQuery throws what a query failed with: without this the page would be empty. */
export class ErrorBoundary extends Component<{children: ReactNode}, {error: Error | null}> {
  override state: {error: Error | null} = {error: null};

  static getDerivedStateFromError(error: Error) {
    return {error};
  }

  override render() {
    const {error} = this.state;
    if (error === null) return this.props.children;
    return (
      <main>
        <pre role="alert">{String(error)}</pre>
        <button type="button" onClick={() => this.setState({error: null})}>
          Try again
        </button>
      </main>
    );
  }
}
`;

const STYLE = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f3f8, #111018);
  --surface: light-dark(#ffffff, #1a1924);
  --line: light-dark(#e4e2ec, #2c2b3a);
  --text: light-dark(#1d1b26, #eceaf4);
  --muted: light-dark(#65626f, #a09dae);
  --accent: light-dark(#594ae2, #a59bff);
  --on-accent: light-dark(#ffffff, #17142e);
  font: 16px / 1.5 system-ui, sans-serif;
  color: var(--text);
  background: var(--ground);
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  padding: 3rem 1rem;
}
main {
  max-width: 34rem;
  margin: 0 auto;
  padding: 1.5rem;
  border: 1px solid var(--line);
  border-radius: 16px;
  background: var(--surface);
}
h1 {
  margin: 0;
  font-size: 1.5rem;
}
p,
footer {
  color: var(--muted);
}
form {
  display: flex;
  gap: 0.5rem;
}
form input {
  flex: 1;
  min-width: 0;
}
input,
button {
  font: inherit;
  color: inherit;
  padding: 0.5rem 0.75rem;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--ground);
}
button {
  border-color: transparent;
  background: var(--accent);
  color: var(--on-accent);
  font-weight: 600;
  cursor: pointer;
}
:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}
ul {
  list-style: none;
  margin: 1rem 0;
  padding: 0;
}
li {
  border-top: 1px solid var(--line);
}
label {
  display: flex;
  align-items: center;
  gap: 0.75rem;
  padding: 0.5rem 0;
  overflow-wrap: anywhere;
}
[type='checkbox'] {
  width: 1.1rem;
  height: 1.1rem;
  margin: 0;
  accent-color: var(--accent);
}
.done {
  color: var(--muted);
  text-decoration: line-through;
}
[role='alert'] {
  color: light-dark(#b00020, #ff8a80);
  white-space: pre-wrap;
}
footer {
  font-size: 0.85rem;
}
`;

function readme(name: string): string {
  return `# ${name}

\`npm run dev\` and open the address that Vite prints, in two windows. It starts a server on this machine if none runs (its data is in
\`.svc/\`), deploys the functions in \`svc/\` to the tenant \`${name}\`, again after every change, shows what they log, and serves the page in
\`src/\`.

- \`svc/tasks.ts\` has the functions, \`svc/schema.ts\` the tables, \`src/App.tsx\` the page that calls them
- \`npx svc data tasks\` shows the documents, \`npx svc run tasks:add '{"text": "try svc"}'\` calls a function: look at the windows meanwhile

To put it somewhere: \`SVC_URL\` and \`SVC_ACCESS_TOKEN\` of the server for \`npm run deploy\`, and
\`VITE_SVC_URL=https://example.com/svc/${name} npm run build\` makes \`dist/\`, which any web server can serve.
`;
}
