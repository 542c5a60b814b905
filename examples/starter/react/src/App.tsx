import {type FormEvent, useState} from 'react';
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
