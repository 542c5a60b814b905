/**
 * A list that everybody who has the page shares. What is shown is a live query; what is added is shown at once and written as soon
 * as the service can be reached, under an id that is chosen here: it may be sent as often as it takes, and is there once.
 */
import {createClient, type Doc, SvcClientError} from 'svc/client';

interface Tables {
  todos: {text: string; done: boolean};
}
type Todo = Doc<Tables['todos']>;
type Config = {url: string; tenant: string; key: string};

const db = createClient<Tables>((await (await fetch('config.json')).json()) as Config);
const form = element<HTMLFormElement>('form');
const list = element<HTMLUListElement>('ul');
const left = element('#left');
const status = element('#status');

let todos: Todo[] = [];
/** What was added and is not known to be written, by id. */
const waiting = new Map<string, string>();
/** Of those, what is being written now. */
const underWay = new Set<string>();

db.live('todos', {}, show, {
  onState(state) {
    say(state === 'connected' ? '' : 'Offline. What you add is kept until the connection is back.');
    if (state === 'connected') for (const id of waiting.keys()) void write(id);
  },
  onError: explain,
});

form.onsubmit = event => {
  event.preventDefault();
  const input = form.elements.namedItem('text') as HTMLInputElement;
  const id = Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16)).join('-');
  waiting.set(id, input.value);
  form.reset();
  render();
  void write(id);
};

async function write(id: string): Promise<void> {
  const text = waiting.get(id);
  if (text === undefined || underWay.has(id)) return;
  underWay.add(id);
  try {
    await db.put('todos', id, {text, done: false}, {ifAbsent: true});
    waiting.delete(id);
  } catch (caught) {
    // It stays, for when the connection is back.
    if (caught instanceof SvcClientError && caught.isTransient) return;
    waiting.delete(id);
    // Written before: the answer was lost.
    if (!(caught instanceof SvcClientError) || caught.code !== 'op.precondition_failed') explain(caught);
  } finally {
    underWay.delete(id);
  }
  render();
}

function show(result: Todo[]): void {
  todos = result;
  render();
}

function render(): void {
  const known = new Set(todos.map(({_id}) => _id));
  const added = [...waiting].filter(([id]) => !known.has(id));
  list.replaceChildren(...todos.map(itemOf), ...added.map(([, text]) => waitingItem(text)));
  const open = todos.filter(({done}) => !done).length + added.length;
  left.textContent = open === 1 ? '1 thing left' : `${open} things left`;
}

function itemOf({_id, text, done}: Todo): HTMLLIElement {
  const item = document.createElement('li');
  item.className = done ? 'done' : '';
  const box = Object.assign(document.createElement('input'), {type: 'checkbox', checked: done, ariaLabel: text});
  box.onchange = () => {
    db.patch('todos', _id, {patch: {done: box.checked}}).catch(explain);
  };
  const remove = Object.assign(document.createElement('button'), {textContent: 'Remove', ariaLabel: `Remove ${text}`});
  remove.onclick = () => {
    db.delete('todos', _id).catch(explain);
  };
  item.append(box, Object.assign(document.createElement('span'), {textContent: text}), remove);
  return item;
}

function waitingItem(text: string): HTMLLIElement {
  const item = Object.assign(document.createElement('li'), {className: 'waiting'});
  item.append(Object.assign(document.createElement('span'), {textContent: text}));
  return item;
}

/** What the service refused, for the reader of the page; the list shows what is so. */
function explain(error: unknown): void {
  render();
  if (!(error instanceof SvcClientError)) throw error;
  say(error.code === 'auth.forbidden' ? 'This page may not do that.' : error.message);
}

function say(text: string): void {
  status.textContent = text;
}

function element<T extends HTMLElement = HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}
