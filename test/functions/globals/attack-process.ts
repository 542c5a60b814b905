/** One attack in a process of its own, for what V8 may answer by ending the process. */
import {Sandbox} from './sandbox.ts';

const sandbox = new Sandbox();
try {
  sandbox.attack(process.argv[2]!, {timeoutMs: 3_000});
} catch {
  // A time-out, or the end of the isolate: the process lives.
}
sandbox.close();
