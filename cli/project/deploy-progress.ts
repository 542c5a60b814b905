/** Reports the server's steps during a deploy by polling the server, so that nothing is guessed. */
import {setTimeout as delay} from 'node:timers/promises';
import type {DeployProgress} from '../../shared/protocol/functions.ts';
import {CommandFailure} from '../failure.ts';
import {DEPLOY_PROGRESS_MS} from '../limits.ts';
import {ask, type Target} from './target.ts';

/** Runs `deploy`, and reports each of its longer steps. @param requestId of the deploy's request */
export async function telling<T>(
  target: Target,
  requestId: string,
  say: (text: string) => void,
  deploy: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const reported = tellSteps(target, requestId, say, over.signal);
  try {
    return await deploy();
  } finally {
    over.abort();
    await reported;
  }
}

async function tellSteps(target: Target, requestId: string, say: (text: string) => void, over: AbortSignal) {
  let last: DeployProgress | null = null;
  for (;;) {
    // Stops when the deploy is over.
    await delay(DEPLOY_PROGRESS_MS, undefined, {signal: over}).catch(() => undefined);
    if (over.aborted) return;
    let deploys: DeployProgress[];
    try {
      ({deploys} = await ask(target, 'deployments.progress', []));
    } catch (caught) {
      if (!(caught instanceof CommandFailure)) throw caught;
      return; // An older server without progress, or one that does not answer: the deploy's own outcome is reported.
    }
    const now = deploys.find(({request_id}) => request_id === requestId) ?? null;
    if (now === null || over.aborted || (last?.step === now.step && last.detail === now.detail)) continue;
    if (last?.step === 'installing_node')
      say(`Node ${last.detail} is installed (${Math.round((now.since - last.since) / 1000)} s)`);
    say(sentence(now));
    last = now;
  }
}

function sentence({step, detail}: DeployProgress): string {
  switch (step) {
    case 'waiting':
      return 'the server has another deploy to finish first';
    case 'checking':
      return 'the server looks at the modules';
    case 'unpacking_packages':
      return `the server unpacks ${detail}`;
    case 'installing_node':
      return `the server installs Node ${detail}, which takes a while and is done once`;
    case 'loading_node_modules':
      return `the server loads the modules for Node ${detail}`;
    case 'storing':
      return 'the server stores the code';
    case 'activating':
      return 'the server checks documents and fills indexes';
  }
}
