/** The figures of sandboxes of all rounds: medians, the line shown, and the design's targets that concern them. */
import {median} from '../measure/statistics.ts';
import {atMost, type Met} from '../measure/target.ts';
import {AT_ONCE, type SandboxRound} from './measure.ts';

const MIB = 1024 * 1024;
const FIRST_MS = 20;
const EACH_MIB = 3;

export function sandboxTargets(rounds: readonly SandboxRound[]): Met[] {
  if (rounds.length === 0) return [];
  const firstMs = median(rounds.map(({isolateMs}) => isolateMs));
  const targets = [atMost('new isolate sandbox to its first answer', FIRST_MS, firstMs, ' ms')];
  const bytes = rounds.flatMap(({bytesEach}) => bytesEach ?? []);
  if (bytes.length > 0) targets.push(atMost('an isolate sandbox', EACH_MIB, median(bytes) / MIB, ' MiB'));
  return targets;
}

export function sandboxesPrinted(rounds: readonly SandboxRound[]): string[] {
  if (rounds.length === 0) return [];
  const of = (value: (round: SandboxRound) => number | null): string => {
    const values = rounds.flatMap(round => value(round) ?? []);
    return values.length === 0 ? '-' : median(values).toFixed(1);
  };
  const mib = (value: (round: SandboxRound) => number | null) =>
    of(round => {
      const bytes = value(round);
      return bytes === null ? null : bytes / MIB;
    });
  const isWhole = rounds.every(({allAnswered}) => allAnswered);
  return [
    `a sandbox to its first answer: isolate ${of(r => r.isolateMs)} ms (the execution ${of(r => r.executionMs)}), the very first of a tenant ` +
      `${of(r => r.firstMs)} ms, Node ${of(r => r.nodeMs)} ms; of processor time with its end ${of(r => r.isolateCpuMs)} and ${of(r => r.nodeCpuMs)} ms`,
    `${AT_ONCE} isolates at once ${mib(r => r.bytesEach)} MiB each, ${isWhole ? 'each with its answer' : 'WITH WRONG ANSWERS'}; a Node sandbox ${mib(r => r.nodeBytes)} MiB`,
  ];
}
