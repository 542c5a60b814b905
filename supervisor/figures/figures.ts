/**
 * Figures of the last 24 hours, by minute: of tenants, of their functions and of the server. Each minute's records are
 * written to the figures file when it is over. Without that file there are no figures, and nothing else is affected.
 */
import type {FiguresRequest} from '../../shared/ipc/overview.ts';
import type {Logger} from '../../shared/log.ts';
import {boundedName, type FunctionCount} from '../../shared/metrics/function-counts.ts';
import {latencyQuantile} from '../../shared/metrics/latency.ts';
import type {FigurePoint, Figures as FiguresAnswer, FunctionFigures} from '../../shared/protocol/figures.ts';
import {FIGURE_RECORDS_MAX, FIGURES_PRUNE_MINUTES} from '../limits.ts';
import type {FigureRecord} from './figure-record.ts';
import {FiguresFile} from './figures-file.ts';
import {type FinishedTraffic, MINUTE_MS} from './tenant-traffic.ts';
import {TrafficCounts} from './traffic-counts.ts';

/** Generation of the server's own records. */
const SERVER = 0;

export class Figures {
  readonly #log: Logger;
  /** Null: it cannot be used. */
  readonly #file: Promise<FiguresFile | null>;
  /** Calls of functions in this minute, by generation and name. */
  #functions = new Map<number, Map<string, TrafficCounts>>();
  #isWriting = false;

  constructor(path: string, log: Logger) {
    this.#log = log;
    this.#file = FiguresFile.open(path, FIGURE_RECORDS_MAX).catch(error => {
      log.warn('figures over time are not kept: their file cannot be used', {path, error});
      return null;
    });
  }

  /** Calls of a tenant's functions since its worker's last report. */
  addFunctions(generation: number, counts: readonly FunctionCount[]): void {
    let functions = this.#functions.get(generation);
    if (functions === undefined) {
      functions = new Map();
      this.#functions.set(generation, functions);
    }
    for (const {name, calls, errors, latencies} of counts) {
      const known = boundedName(name, functions);
      const sum = functions.get(known) ?? new TrafficCounts();
      functions.set(known, sum);
      sum.add({requests: calls, errors, bytesIn: 0, bytesOut: 0, latencies});
    }
  }

  /** A minute is over. @param generationOf undefined: the tenant is deleted */
  finish(
    minute: number,
    traffic: readonly FinishedTraffic[],
    generationOf: (tenant: string) => number | undefined,
  ): void {
    const records: FigureRecord[] = [];
    const server: FigureRecord = {minute, generation: SERVER, name: '', counts: new TrafficCounts(), sockets: 0};
    for (const {tenant, counts, sockets} of traffic) {
      const generation = generationOf(tenant);
      if (generation !== undefined) records.push({minute, generation, name: '', counts, sockets});
      server.counts.add(counts);
      server.sockets += sockets;
    }
    if (records.length > 0) records.push(server);
    for (const [generation, functions] of this.#functions) {
      for (const [name, counts] of functions) records.push({minute, generation, name, counts, sockets: 0});
    }
    this.#functions = new Map();
    // A disk that does not keep up loses minutes of charts instead of taking memory.
    if (records.length === 0 || this.#isWriting) return;
    this.#isWriting = true;
    void this.#write(minute, records);
  }

  async close(): Promise<void> {
    await (await this.#file)?.close();
  }

  /** @param generation of the tenant; null: of the server */
  async of(generation: number | null, request: FiguresRequest): Promise<FiguresAnswer> {
    return {...rangeOf(request), points: await this.#points(generation ?? SERVER, '', request)};
  }

  /** The functions that were called in this time, most calls first. */
  async ofFunctions(generation: number, request: FiguresRequest): Promise<FunctionFigures> {
    const file = await this.#file;
    const names = (file?.names(generation) ?? []).filter(name => name !== '');
    const functions: FunctionFigures['functions'] = [];
    for (const name of request.name === null ? names : names.filter(each => each === request.name)) {
      const sum = new TrafficCounts();
      for await (const record of this.#records(generation, name, request)) sum.add(record.counts);
      if (sum.requests > 0) functions.push({name, calls: sum.requests, ...shared(sum)});
    }
    functions.sort((a, b) => b.calls - a.calls);
    const points = request.name === null ? null : await this.#points(generation, request.name, request);
    return {...rangeOf(request), functions, points};
  }

  async *#records(generation: number, name: string, {fromMs, toMs}: FiguresRequest): AsyncGenerator<FigureRecord> {
    const file = await this.#file;
    if (file !== null) yield* file.records(generation, name, minuteOf(fromMs), minuteOf(toMs));
  }

  async #points(generation: number, name: string, request: FiguresRequest): Promise<FigurePoint[]> {
    const stepMs = request.stepSeconds * 1_000;
    const steps = new Map<number, {counts: TrafficCounts; sockets: number}>();
    for await (const {minute, counts, sockets} of this.#records(generation, name, request)) {
      const at = Math.floor((minute * MINUTE_MS) / stepMs) * stepMs;
      const sum = steps.get(at) ?? {counts: new TrafficCounts(), sockets: 0};
      steps.set(at, sum);
      sum.counts.add(counts);
      sum.sockets = Math.max(sum.sockets, sockets);
    }
    return [...steps]
      .sort(([a], [b]) => a - b)
      .map(([at, {counts, sockets}]) => ({
        at,
        requests: counts.requests,
        ...shared(counts),
        bytes_in: counts.bytesIn,
        bytes_out: counts.bytesOut,
        sockets,
      }));
  }

  async #write(minute: number, records: readonly FigureRecord[]): Promise<void> {
    try {
      const file = await this.#file;
      await file?.append(records);
      if (minute % FIGURES_PRUNE_MINUTES === 0) file?.prune();
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      this.#log.warn('figures of a minute could not be written', {error});
    } finally {
      this.#isWriting = false;
    }
  }
}

function shared({requests, errors, latencies}: TrafficCounts): {
  errors: number;
  error_rate: number;
  p50_ms: number | null;
  p99_ms: number | null;
} {
  return {
    errors,
    error_rate: requests === 0 ? 0 : errors / requests,
    p50_ms: latencyQuantile(latencies, 0.5),
    p99_ms: latencyQuantile(latencies, 0.99),
  };
}

function rangeOf({fromMs, toMs, stepSeconds}: FiguresRequest): {from: number; to: number; step_seconds: number} {
  return {from: fromMs, to: toMs, step_seconds: stepSeconds};
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
