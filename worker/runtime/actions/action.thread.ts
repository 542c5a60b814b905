/**
 * A thread that runs actions, many at a time. Each action has its own isolate, which works on a thread of isolated-vm
 * while this thread handles the others. One port leads to the main thread.
 */
import {MessageChannel, parentPort, workerData} from 'node:worker_threads';
import {openReader} from '../../../engine/storage/database.ts';
import {CodeStore} from '../code-store.ts';
import {NewestEgress} from '../egress/newest.ts';
import type {CodeInvocation} from '../guest/host-call.ts';
import {collectGarbage} from '../isolate/collect-garbage.ts';
import {ACTION_ISOLATE_IDLE_MS, FUNCTION_LOAD_MS_MAX, ISOLATE_MEMORY_MB} from '../limits.ts';
import {type ActionIsolate, ActionIsolates} from './action-isolates.ts';
import type {
  ActionRequest,
  ActionTask,
  ActionThreadSettings,
  FromThread,
  ThreadReady,
  ToThread,
} from './action-message.ts';
import {ActionRun} from './action-run.ts';
import {EntryGate} from './entry-gate.ts';

const {databasePath, actionMsMax, actionCpuMsMax} = workerData as ActionThreadSettings;
const code = new CodeStore(openReader(databasePath));
const isolates = new ActionIsolates(deployment => code.sourceOf(deployment));
const gate = new EntryGate();
const runs = new Map<number, ActionRun>();
const {port1: port, port2: actionPort} = new MessageChannel();
parentPort?.postMessage({actionPort} satisfies ThreadReady, [actionPort]);

port.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'answer':
      runs.get(message.action)?.settle(message.call, message.answer, message.bytes);
      return;
    case 'cancel':
      runs.get(message.action)?.cancel(message.message);
      return;
    case 'weigh':
      send({type: 'heaviest', weighing: message.weighing, ...heaviest()});
      return;
    case 'releaseIdle':
      isolates.releaseIdle(message.unusedMs);
      return;
    case 'rest':
      rest();
      send({type: 'rested'});
  }
});

let restTimer: NodeJS.Timeout | null = null;

/** When the thread ends, nothing of isolated-vm can be left, not even as garbage. */
function rest(): void {
  isolates.releaseIdle(0);
  collectGarbage();
}

function heaviest(): {action: number | null; bytes: number} {
  let action: number | null = null;
  let bytes = 0;
  for (const [number, run] of runs) {
    const weight = run.bytes;
    if (weight > bytes) [action, bytes] = [number, weight];
  }
  return {action, bytes};
}

const egress = new NewestEgress();

export default async function runAction({action, request}: ActionTask): Promise<void> {
  if (restTimer !== null) clearTimeout(restTimer);
  const isolate = isolates.take(request.deployment);
  const run = new ActionRun(isolate, {
    caller: request.caller,
    env: request.env,
    start: invocation => start(isolate, request, invocation),
    gate,
    egress: egress.of(request.egress),
    memoryMb: ISOLATE_MEMORY_MB,
    ask: (call, operation, parameters, bytes) => send({type: 'call', action, call, operation, parameters, bytes}),
    log: line => send({type: 'log', action, line}),
    actionMsMax,
    actionCpuMsMax,
  });
  runs.set(action, run);
  send({type: 'begun', action});
  try {
    const outcome = await run.run();
    send({type: 'outcome', action, outcome});
  } finally {
    runs.delete(action);
    isolates.giveBack(isolate, run.inOrder);
    // The task must not end earlier: if a thread ends while isolated-vm still has a message for it, the process
    // crashes.
    await run.atRest;
    if (restTimer !== null) clearTimeout(restTimer);
    restTimer = runs.size > 0 ? null : setTimeout(rest, ACTION_ISOLATE_IDLE_MS).unref();
  }
}

async function start(
  {realm}: ActionIsolate,
  request: ActionRequest,
  invocation: Omit<CodeInvocation, 'args'>,
): Promise<void> {
  const {module, name, kind, args} = request;
  const path = `${module}.js`;
  realm.load(path, FUNCTION_LOAD_MS_MAX);
  const entered = realm.run({...invocation, module: path, name, kind, paginated: false, args});
  request.args = '';
  await entered;
}

function send(message: FromThread): void {
  port.postMessage(message);
}
