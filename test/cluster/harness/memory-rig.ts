/** The log in memory, with its own time. */
import type {LogEngine} from '../../../cluster/log/log-engine.ts';
import {MemoryEngine, MemoryStreams} from './memory-engine.ts';
import type {Rig} from './rig.ts';
import {VirtualTime} from './virtual-time.ts';

/** @param wrap makes a mutant of each connection */
export function memoryRig(wrap: (engine: LogEngine) => LogEngine = engine => engine): Rig {
  const timing = new VirtualTime();
  const streams = new MemoryStreams();
  return {
    timing,
    connect: async () => wrap(new MemoryEngine(streams, timing)),
    setSpace: async (_, bytesMax) => {
      streams.bytesMax = bytesMax;
    },
    run: work => timing.run(work()),
  };
}
