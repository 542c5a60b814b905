/** A store whose successful requests to store objects are counted, because stores charge for them. */
import type {ObjectStore} from '../store/object-store.ts';

export function countedStore(store: ObjectStore, stored: (bytes: number) => void): ObjectStore {
  return {
    url: store.url,
    prepare: () => store.prepare(),
    put: async (name, bytes, options) => {
      await store.put(name, bytes, options);
      stored(bytes.length);
    },
    putStream: async (name, parts) => {
      let bytes = 0;
      const counted = async function* (): AsyncGenerator<Buffer, void, undefined> {
        for await (const part of parts) {
          bytes += part.length;
          yield part;
        }
      };
      await store.putStream(name, counted());
      stored(bytes);
    },
    get: (name, range) => store.get(name, range),
    stream: (name, range) => store.stream(name, range),
    list: (prefix, options) => store.list(prefix, options),
    remove: names => store.remove(names),
    removeLeftovers: async beforeMs => store.removeLeftovers?.(beforeMs),
    close: () => store.close(),
  };
}
