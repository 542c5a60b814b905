/** The processes of query and action isolates beside a worker. */
import {childrenOf, commandLine} from '../../harness/processes.ts';

/** Those of this worker, the one that was started first at the front. */
export function isolateProcesses(worker: number): number[] {
  return childrenOf(worker).filter(pid => commandLine(pid).includes('isolates.js'));
}
