/**
 * A record of the figures file: what a tenant, one of its functions, or the server did in one minute. All records have
 * the same size, so a damaged one costs only itself.
 *
 *   0   CRC-32 of the rest      24  requests, u32     48  sockets, u32
 *   4   minute, u32             28  errors, u32       52  latencies, u32 per bucket
 *   8   sequence, f64           32  bytes in, f64     160 length of the name
 *   16  generation, f64         40  bytes out, f64    161 name of the function; none: the tenant
 */
import {Buffer} from 'node:buffer';
import {crc32} from 'node:zlib';
import {assert} from '../../shared/assert.ts';
import {FUNCTION_NAME_BYTES_MAX} from '../../shared/metrics/function-counts.ts';
import {LATENCY_BUCKETS} from '../../shared/metrics/latency.ts';
import {TrafficCounts} from './traffic-counts.ts';

export const RECORD_BYTES = 256;
const LATENCIES_AT = 52;
const NAME_AT = 160;
const U32_MAX = 0xffff_ffff;

export type FigureRecord = {
  /** Whole minutes since 1970. */
  minute: number;
  /** Of the tenant; 0: the server. */
  generation: number;
  /** Of a function; empty: the tenant or the server. */
  name: string;
  counts: TrafficCounts;
  sockets: number;
};

export function encodeRecord(into: Buffer, sequence: number, record: FigureRecord): void {
  assert(into.length === RECORD_BYTES, 'a record has its size');
  const {counts} = record;
  into.fill(0);
  into.writeUInt32LE(record.minute, 4);
  into.writeDoubleLE(sequence, 8);
  into.writeDoubleLE(record.generation, 16);
  into.writeUInt32LE(u32(counts.requests), 24);
  into.writeUInt32LE(u32(counts.errors), 28);
  into.writeDoubleLE(counts.bytesIn, 32);
  into.writeDoubleLE(counts.bytesOut, 40);
  into.writeUInt32LE(u32(record.sockets), 48);
  for (let i = 0; i < LATENCY_BUCKETS; i++) into.writeUInt32LE(u32(counts.latencies[i]!), LATENCIES_AT + 4 * i);
  const name = Buffer.from(record.name);
  assert(name.length <= FUNCTION_NAME_BYTES_MAX, 'a name fits');
  into.writeUInt8(name.length, NAME_AT);
  name.copy(into, NAME_AT + 1);
  into.writeUInt32LE(crc32(into.subarray(4)), 0);
}

/** Null: it is not what was written. */
export function decodeRecord(bytes: Buffer): (FigureRecord & {sequence: number}) | null {
  if (bytes.length !== RECORD_BYTES || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) return null;
  const counts = new TrafficCounts();
  counts.requests = bytes.readUInt32LE(24);
  counts.errors = bytes.readUInt32LE(28);
  counts.bytesIn = bytes.readDoubleLE(32);
  counts.bytesOut = bytes.readDoubleLE(40);
  for (let i = 0; i < LATENCY_BUCKETS; i++) counts.latencies[i] = bytes.readUInt32LE(LATENCIES_AT + 4 * i);
  return {
    minute: bytes.readUInt32LE(4),
    sequence: bytes.readDoubleLE(8),
    generation: bytes.readDoubleLE(16),
    name: bytes.toString('utf8', NAME_AT + 1, NAME_AT + 1 + bytes.readUInt8(NAME_AT)),
    counts,
    sockets: bytes.readUInt32LE(48),
  };
}

function u32(value: number): number {
  return Math.min(U32_MAX, Math.max(0, Math.round(value)));
}
