import {join} from 'node:path';
import {benchDocument, CATEGORIES, ITEMS, WIDE_CATEGORIES, WIDE_ITEMS, wideCategory} from '../../documents.ts';
import {requestText} from '../../load/job.ts';
import {NODE_FLAGS, type ServerProcess, startServer} from '../server-process.ts';

export type HandPeer = {
  process: ServerProcess;
  port: number;
  requests: Record<'get' | 'wide-get' | 'insert' | 'query' | 'wide-query', string[]>;
};

const REQUESTS = 1_000;

/** @param path of the file it makes */
export async function startHand(path: string): Promise<HandPeer> {
  const args = [...NODE_FLAGS, join(import.meta.dirname, 'main.ts'), path];
  const started = await startServer(process.execPath, args, /listening on (\d+)/);
  const many = (count: number, make: (index: number) => string) => Array.from({length: count}, (_, i) => make(i));
  const post = (route: string, body: unknown): string => requestText('POST', route, {}, JSON.stringify(body));
  return {
    process: started,
    port: Number(started.ready[1]),
    requests: {
      get: many(REQUESTS, i => requestText('GET', `/documents/${((i * 7) % ITEMS) + 1}`, {})),
      insert: many(REQUESTS, i => post('/documents', benchDocument(i))),
      query: many(CATEGORIES, i => post('/query', {category: `c${i}`})),
      // These documents come after the others, in the same table.
      'wide-get': many(WIDE_ITEMS, i => requestText('GET', `/documents/${ITEMS + i + 1}`, {})),
      'wide-query': many(WIDE_CATEGORIES, i => post('/query', {category: wideCategory(i)})),
    },
  };
}
