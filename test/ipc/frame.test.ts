import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameKind,
  FrameReader,
  FrameWriter,
  MalformedFrame,
} from '../../shared/ipc/frame.ts';
import {FRAME_BODY_BYTES_MAX, FRAME_META_BYTES_MAX} from '../../shared/limits.ts';

type Frame = {kind: FrameKind; stream: number; flags: number; meta: string; body: Buffer};

const KINDS = Object.values(FrameKind);
/** Above the flags of every frame. */
const FLAGS_END = 2 * Math.max(...Object.values(FrameFlag));

/** Sizes on both sides of what the writer treats in different ways. */
const size = fc.oneof(
  {weight: 6, arbitrary: fc.nat(200)},
  {weight: 1, arbitrary: fc.constantFrom(0, 32, 33, 21_841, 21_842, 32_767, 32_768, 65_524, 65_535, 65_536, 200_000)},
);
const body = fc.tuple(size, fc.nat(255)).map(([length, first]) => Buffer.alloc(length, Buffer.from([first, 7, 0])));
const text = fc.oneof(
  fc.string({unit: 'binary', maxLength: 40}).map(value => value.toWellFormed()),
  size.map(length => 'é'.repeat(length / 3)),
);
const meta = fc.oneof(
  {weight: 6, arbitrary: text},
  {weight: 1, arbitrary: fc.constant('m'.repeat(FRAME_META_BYTES_MAX))},
);
const frame = fc.record({
  kind: fc.constantFrom(...KINDS),
  stream: fc.nat(0xffff_ffff),
  flags: fc.nat(7),
  meta: meta.filter(value => Buffer.byteLength(value) <= FRAME_META_BYTES_MAX),
  body: fc.oneof(body, text),
  isOwned: fc.boolean(),
  flushAfter: fc.boolean(),
});

/** What a socket would carry, in the pieces it was given. */
function written(write: (writer: FrameWriter) => void): Buffer[] {
  const chunks: Buffer[] = [];
  const writer = new FrameWriter(bytes => chunks.push(bytes));
  write(writer);
  writer.flush();
  return chunks;
}

function reader(): {frames: Frame[]; reader: FrameReader} {
  const frames: Frame[] = [];
  const keep = (kind: FrameKind, stream: number, flags: number, meta: Buffer, body: Buffer) => {
    frames.push({kind, stream, flags, meta: meta.toString('utf8'), body: Buffer.from(body)});
  };
  return {frames, reader: new FrameReader(keep)};
}

function header(fields: {body?: number; kind?: number; flags?: number; meta?: number}): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
  bytes.writeUInt32LE(fields.body ?? 0, 0);
  bytes[8] = fields.kind ?? FrameKind.request;
  bytes[9] = fields.flags ?? 0;
  bytes.writeUInt16LE(fields.meta ?? 0, 10);
  return bytes;
}

describe('a writer that flushes by itself', () => {
  test('does it once for all frames until then, and again for those that follow', async () => {
    const chunks: Buffer[] = [];
    const writer = new FrameWriter(bytes => chunks.push(bytes), process.nextTick);
    const frames = reader();
    for (let stream = 1; stream <= 3; stream++) writer.frame(FrameKind.response, stream, 0, '', `reply ${stream}`);
    await Promise.resolve(); // settled by a microtask of the same turn
    writer.frame(FrameKind.response, 4, 0, '', Buffer.from('reply 4'));
    expect(chunks).toEqual([]);
    await new Promise(resolve => setImmediate(resolve));
    expect(chunks).toHaveLength(1);
    writer.frame(FrameKind.response, 5, 0, '', 'reply 5');
    await new Promise(resolve => setImmediate(resolve));
    expect(chunks).toHaveLength(2);
    for (const chunk of chunks) frames.reader.push(chunk);
    expect(frames.frames.map(({stream}) => stream)).toEqual([1, 2, 3, 4, 5]);
  });

  test('writes nothing twice when it is flushed before', async () => {
    const chunks: Buffer[] = [];
    const writer = new FrameWriter(bytes => chunks.push(bytes), process.nextTick);
    writer.frame(FrameKind.response, 1, 0, '', 'reply');
    writer.flush();
    await new Promise(resolve => setImmediate(resolve));
    expect(chunks).toHaveLength(1);
  });
});

describe('frames', () => {
  test('come out as they went in, whatever pieces the bytes arrive in', () => {
    fc.assert(
      fc.property(
        fc.array(frame, {maxLength: 8}),
        fc.array(fc.integer({min: 1, max: 70_000}), {minLength: 1}),
        (sent, cuts) => {
          const bytes = Buffer.concat(
            written(writer => {
              for (const {kind, stream, flags, meta, body, isOwned, flushAfter} of sent) {
                writer.frame(kind, stream, flags, meta, body, isOwned);
                if (flushAfter) writer.flush();
              }
            }),
          );
          const received = reader();
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const end = at + cuts[i % cuts.length]!;
            received.reader.push(bytes.subarray(at, end));
            at = end;
          }
          expect(received.frames.length).toBe(sent.length);
          for (const [i, {kind, stream, flags, meta, body}] of sent.entries()) {
            const got = received.frames[i]!;
            expect({...got, body: null}).toEqual({kind, stream, flags, meta, body: null});
            expect(got.body.equals(Buffer.from(body as string))).toBe(true);
          }
        },
      ),
      {numRuns: 200},
    );
  });

  test('survive bytes that come one at a time', () => {
    const chunks = written(writer => {
      writer.frame(FrameKind.request, 1, 0, '{"op":"x"}', 'body');
      writer.frame(FrameKind.cancel, 0xffff_ffff, 7, '', '');
    });
    const received = reader();
    for (const byte of Buffer.concat(chunks)) received.reader.push(Buffer.from([byte]));
    expect(received.frames.map(({stream, meta, body}) => [stream, meta, body.toString()])).toEqual([
      [1, '{"op":"x"}', 'body'],
      [0xffff_ffff, '', ''],
    ]);
  });

  test('arrive whole in whatever chunks, all of them in one buffer that is used again', () => {
    const sizes = fc.constantFrom(1, 5, FRAME_HEADER_BYTES, 13, 200, 4_096, 65_536);
    fc.assert(
      fc.property(fc.array(frame, {minLength: 1, maxLength: 12}), fc.array(sizes, {minLength: 1}), (frames, chunks) => {
        const bytes = Buffer.concat(
          written(writer => {
            for (const {kind, stream, flags, meta, body} of frames) writer.frame(kind, stream, flags, meta, body);
          }),
        );
        const received = reader();
        const shared = Buffer.alloc(65_536);
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const chunk = shared.subarray(0, bytes.copy(shared, 0, at, at + chunks[i % chunks.length]!));
          at += chunk.length;
          received.reader.push(chunk);
          shared.fill(0xee);
        }
        expect(received.frames.map(got => ({...got, body: got.body.toString('latin1')}))).toEqual(
          frames.map(({kind, stream, flags, meta, body}) => ({
            kind,
            stream,
            flags,
            meta,
            body: Buffer.from(body as string).toString('latin1'),
          })),
        );
      }),
      {numRuns: 60},
    );
  });

  test('of one turn leave in one write while they fit one chunk', () => {
    const chunks = written(writer => {
      for (let stream = 0; stream < 100; stream++) writer.frame(FrameKind.response, stream, 0, '', '{"ok":true}');
      expect(writer.pending).toBe(true);
    });
    expect(chunks).toHaveLength(1);
  });

  test('a body that is not given away may change once the frame is written', () => {
    for (const length of [10, 40_000, 100_000]) {
      const mine = Buffer.alloc(length, 'a');
      const chunks = written(writer => {
        writer.frame(FrameKind.response, 1, 0, '', mine);
        mine.fill('b');
      });
      const received = reader();
      received.reader.push(Buffer.concat(chunks));
      expect(received.frames[0]!.body.equals(Buffer.alloc(length, 'a'))).toBe(true);
    }
  });
});

describe('bytes that are no frames', () => {
  test.each([
    ['kind 0', header({kind: 0})],
    ['a kind nobody knows', header({kind: Math.max(...KINDS) + 1})],
    ['unknown flags', header({flags: FLAGS_END})],
    ['a body over the limit', header({body: FRAME_BODY_BYTES_MAX + 1})],
    ['a body of 4 GiB', header({body: 0xffff_ffff})],
  ])('%s: malformed as soon as the header is there', (_, bytes) => {
    const received = reader();
    received.reader.push(bytes.subarray(0, FRAME_HEADER_BYTES - 1));
    expect(() => received.reader.push(bytes.subarray(FRAME_HEADER_BYTES - 1))).toThrow(MalformedFrame);
    expect(received.frames).toEqual([]);
  });

  test.each([
    ['the largest body', header({body: FRAME_BODY_BYTES_MAX})],
    ['the largest meta', header({meta: FRAME_META_BYTES_MAX})],
  ])('%s is awaited', (_, bytes) => {
    const received = reader();
    received.reader.push(bytes);
    expect(received.frames).toEqual([]);
  });

  const anyBytes = fc.oneof(
    fc.uint8Array({maxLength: 200}),
    // Headers that are nearly right, so that the fuzzing gets past the first check.
    fc
      .record({body: fc.nat(50), kind: fc.nat(14), flags: fc.nat(9), meta: fc.nat(50)})
      .chain(fields => fc.uint8Array({maxLength: 120}).map(rest => Buffer.concat([header(fields), rest]))),
  );

  test('random bytes are frames or malformed, never another error, and every frame is within its bounds', () => {
    fc.assert(
      fc.property(fc.array(anyBytes, {maxLength: 10}), chunks => {
        const received = reader();
        try {
          for (const chunk of chunks) received.reader.push(Buffer.from(chunk));
        } catch (caught) {
          expect(caught).toBeInstanceOf(MalformedFrame);
        }
        const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        const used = received.frames.reduce((sum, {body}) => sum + FRAME_HEADER_BYTES + body.length, 0);
        expect(used).toBeLessThanOrEqual(total);
        for (const {kind, flags} of received.frames) {
          expect(KINDS).toContain(kind);
          expect(flags).toBeLessThan(FLAGS_END);
        }
      }),
      {numRuns: 2_000},
    );
  });

  test('one flipped bit is a frame, a wait for more, or malformed', () => {
    const [bytes] = written(writer => {
      for (let stream = 1; stream <= 3; stream++) writer.frame(FrameKind.request, stream, 0, '{"op":"a"}', '{"b":1}');
    });
    for (let bit = 0; bit < bytes!.length * 8; bit++) {
      const damaged = Buffer.from(bytes!);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const received = reader();
      const push = () => received.reader.push(damaged);
      try {
        push();
      } catch (caught) {
        expect(caught).toBeInstanceOf(MalformedFrame);
      }
      expect(received.frames.length).toBeLessThanOrEqual(bytes!.length / FRAME_HEADER_BYTES);
    }
  });
});
