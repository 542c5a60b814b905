import {ServiceError} from '../../shared/errors.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {valueAt} from '../../shared/values/paths.ts';
import {INDEX_KEY_BYTES_MAX} from '../limits.ts';
import type {CatalogIndex} from './catalog.ts';

/** The entry key of a document. A client's document whose values are too long for one is refused. */
export function indexKey(index: CatalogIndex, fields: Record<string, unknown>): Buffer {
  const key = encodeKey(index.paths.map(path => valueAt(fields as never, path)));
  if (key.length > INDEX_KEY_BYTES_MAX) {
    throw new ServiceError(
      'op.invalid_input',
      `the indexed values of index ${index.name} take ${key.length} bytes; the limit is ${INDEX_KEY_BYTES_MAX}`,
      {index: index.name},
    );
  }
  return key;
}
