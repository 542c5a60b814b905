/**
 * The process of a tenant's sandboxes. Their code is trusted by no one, not even the tenant. So it runs outside the
 * worker, without the tenant's file, variables or credentials, and a crash of this process ends none of the tenant's
 * own calls. The worker bounds its memory, checks every message from it, and kills it when it is silent.
 *
 * It has no right to write files, to start processes or threads, or to read anything but its own code (Node's
 * permission model, set at its start: sandbox-process.ts). It exits with its worker.
 */
import {unreachable} from '../../../shared/assert.ts';
import {EntryGate} from '../../runtime/actions/entry-gate.ts';
import {NewestEgress} from '../../runtime/egress/newest.ts';
import {ISOLATE_FRAME_BYTES_MAX} from '../../runtime/limits.ts';
import {WorkerPipe} from '../../runtime/process/worker-pipe.ts';
import {SANDBOX_VALUE_CHARS_MAX} from '../limits.ts';
import type {Failed, Sent, ToHost} from '../sandbox-message.ts';
import {HostedSandbox} from './hosted-sandbox.ts';

const sandboxes = new Map<string, HostedSandbox>();
// Measures with memoryUsage, because it has no access to /proc.
const gate = new EntryGate(() => process.memoryUsage.rss());
const egress = new NewestEgress();

const pipe = new WorkerPipe<Sent, ToHost>(ISOLATE_FRAME_BYTES_MAX, received);

function received(message: ToHost): void {
  switch (message.type) {
    case 'open':
      sandboxes.set(message.sandbox, new HostedSandbox(message.memoryMb, gate));
      pipe.send({type: 'opened', sandbox: message.sandbox});
      return;
    case 'execute':
      void execute(message);
      return;
    case 'close':
      end(message.sandbox);
      return;
    case 'shed':
      shed();
      return;
    default:
      unreachable(message);
  }
}

async function execute({sandbox, execution, request}: ToHost & {type: 'execute'}): Promise<void> {
  const hosted = sandboxes.get(sandbox);
  if (hosted === undefined) return; // The sandbox was ended, and the worker notified.
  const result = await hosted.execute(request, request.egress === null ? null : egress.of(request.egress));
  if (result.broken !== null) sandboxes.delete(sandbox);
  if (result.ok) {
    const {value, ...rest} = result;
    pipe.send({type: 'executed', execution, result: rest}, value);
  } else pipe.send({type: 'executed', execution, result: bounded(result)});
}

function end(sandbox: string): void {
  sandboxes.get(sandbox)?.close();
  sandboxes.delete(sandbox);
}

function shed(): void {
  let largest: string | null = null;
  let bytes = 0;
  for (const [id, sandbox] of sandboxes) if (sandbox.bytes > bytes) [largest, bytes] = [id, sandbox.bytes];
  if (largest === null) return;
  end(largest);
  pipe.send({
    type: 'broken',
    sandbox: largest,
    reason: "the tenant's sandboxes needed too much memory, and it took most",
  });
}

/** An error can be as long as its isolate's memory; a frame cannot. */
function bounded(result: Failed): Failed {
  const cut = (text: string) => text.slice(0, SANDBOX_VALUE_CHARS_MAX);
  const {name, message, stack} = result;
  return {...result, name: cut(name), message: cut(message), stack: stack === null ? null : cut(stack)};
}
