/** The log in memory, with its own time. */
import type {LogEngine, StreamName} from '../../../cluster/log/log-engine.ts';
import {MemoryEngine, MemoryStreams} from './memory-engine.ts';
import type {Rig} from './rig.ts';
import {VirtualTime} from './virtual-time.ts';

export type MemoryRig = Rig & {
  loseAfter(stream: StreamName, sequence: number): void;
  /** Reads end there, as those of a server that is behind. */
  hideAfter(stream: StreamName, sequence: number): void;
};

/** @param wrap makes a mutant of each connection */
export function memoryRig(wrap: (engine: LogEngine) => LogEngine = engine => engine): MemoryRig {
  const timing = new VirtualTime();
  const streams = new MemoryStreams();
  return {
    timing,
    connect: async () => wrap(new MemoryEngine(streams, timing)),
    setSpace: async (_, bytesMax) => {
      streams.bytesMax = bytesMax;
    },
    run: work => timing.run(work()),
    hideAfter: (stream, sequence) => {
      streams.of(stream).readableTo = sequence;
    },
    loseAfter: (stream, sequence) => streams.loseAfter(stream, sequence),
  };
}
