/** `performance`: `now()` and `timeOrigin`, which is the deployment's timestamp in every kind of function. */
import {state} from '../state.ts';
import {elapsedMs} from './clock.ts';
import {define} from './define.ts';

class Performance {
  now(): number {
    return elapsedMs();
  }
  get timeOrigin(): number {
    return state.deployMs;
  }
  toJSON(): {timeOrigin: number} {
    return {timeOrigin: this.timeOrigin};
  }
}

export function installPerformance(): void {
  define(Performance.prototype, Symbol.toStringTag, 'Performance');
  define(globalThis, 'performance', new Performance());
}
