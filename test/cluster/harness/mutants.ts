/** Engines with one safeguard taken out. The suite has to notice each of them. */
import {createHash} from 'node:crypto';
import type {LogEngine, Subject} from '../../../cluster/log/log-engine.ts';

/** The expected sequence never reaches the engine. */
export function withoutExpectation(engine: LogEngine): LogEngine {
  return withPublish(engine, (subject, bytes) => engine.publish(subject, bytes, null));
}

/**
 * Messages have ids by which the engine recognizes a retry, and the caller takes its answer for an acknowledgement. NATS
 * 2.10 recognizes the retry of a message that it refused as well.
 */
export function withTrustedIds(engine: LogEngine): LogEngine {
  const seen = new Set<string>();
  return withPublish(engine, async (subject, bytes, expected) => {
    const id = createHash('sha256').update(subject.name).update(bytes).digest('hex');
    if (seen.has(id)) return {kind: 'stored', sequence: (expected ?? 0) + 1, isDuplicate: false};
    seen.add(id);
    return engine.publish(subject, bytes, expected);
  });
}

function withPublish(engine: LogEngine, publish: LogEngine['publish']): LogEngine {
  return {
    publish,
    next: (subject: Subject, sequence) => engine.next(subject, sequence),
    messages: (subject, range) => engine.messages(subject, range),
    last: subject => engine.last(subject),
    removeBefore: (subject, sequence) => engine.removeBefore(subject, sequence),
    watch: (stream, prefixes, options) => engine.watch(stream, prefixes, options),
  };
}
