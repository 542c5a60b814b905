/** The answer that is being written: the cork callback of all exchanges finds its arguments here. */
import type {Buffer} from 'node:buffer';
import type {ReplyHeaders} from './reply-head.ts';

interface Replying {
  /** Called corked. */
  writeReply(status: number, body: string | Buffer, headers: ReplyHeaders, contentType: string): void;
}

/** One for all: a closure per answer would be garbage on the hottest path. */
export const replyInTurn = {
  exchange: null as Replying | null,
  status: 0,
  body: '' as string | Buffer,
  headers: null as ReplyHeaders,
  contentType: '',
  write: (): void => {
    const {exchange, status, body, headers, contentType} = replyInTurn;
    exchange!.writeReply(status, body, headers, contentType);
  },
};
