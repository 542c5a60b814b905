/** Components on a page of happy-dom, rendered by react-dom as in a browser. */
import {act, createElement, type FunctionComponent, type ReactNode} from 'react';
import {createRoot, hydrateRoot, type Root} from 'react-dom/client';
import {onTestFinished} from 'vitest';
import {SvcProvider, type SvcReactClient} from '../../sdk/react/index.ts';

type Globals = {IS_REACT_ACT_ENVIRONMENT?: boolean; document: {createElement(name: string): HTMLElement}};
type HTMLElement = {textContent: string; innerHTML: string};

export const h = createElement;

export class Page {
  readonly container: HTMLElement;
  readonly #root: Root;
  #isOpen = true;

  private constructor(container: HTMLElement, root: Root) {
    this.container = container;
    this.#root = root;
    onTestFinished(() => this.close());
  }

  /** @param html as a server rendered it */
  static async open(element: ReactNode, html?: string): Promise<Page> {
    const container = (globalThis as unknown as Globals).document.createElement('div');
    if (html !== undefined) {
      container.innerHTML = html;
      let root: Root | undefined;
      await inAct(async () => {
        root = hydrateRoot(container as never, element);
      });
      return new Page(container, root!);
    }
    const root = createRoot(container as never, {onUncaughtError: () => {}} as object);
    const page = new Page(container, root);
    await page.show(element);
    return page;
  }

  async show(element: ReactNode): Promise<void> {
    await inAct(async () => this.#root.render(element));
  }

  get text(): string {
    return this.container.textContent;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await inAct(async () => this.#root.unmount());
  }
}

/** Otherwise React renders by itself, as in an app. */
async function inAct(work: () => Promise<void>): Promise<void> {
  const globals = globalThis as unknown as Globals;
  const before = globals.IS_REACT_ACT_ENVIRONMENT ?? false;
  globals.IS_REACT_ACT_ENVIRONMENT = true;
  try {
    await act(work);
  } finally {
    globals.IS_REACT_ACT_ENVIRONMENT = before;
  }
}

/** Does something and waits until everything that follows at once from it has been rendered. */
export async function acted<T>(act_: () => T | Promise<T>): Promise<T> {
  let result: T | undefined;
  await inAct(async () => {
    result = await act_();
    await settled();
  });
  return result!;
}

/** After some turns of the event loop: frames of a simulated deployment arrive on microtasks. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setImmediate(resolve));
}

/** A component below a provider. */
export function within(client: SvcReactClient, component: FunctionComponent): ReactNode {
  return h(SvcProvider, {client}, h(component));
}
