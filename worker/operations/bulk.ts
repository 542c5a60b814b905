/** Work on many documents: imports and exports. */
import {ServiceError} from '../../shared/errors.ts';
import type {Operation} from '../../shared/operations.ts';
import {ExportQuery} from '../../shared/protocol/exports.ts';
import {ImportQuery} from '../../shared/protocol/imports.ts';
import {exportPieces} from '../bulk/export.ts';
import type {ImportBody} from '../bulk/imports.ts';
import type {Request} from '../ipc/decode.ts';
import {wireType} from '../wire-type.ts';
import {type Handlers, json} from './answer.ts';
import {decodeQuery} from './query-string.ts';
import {fromSnapshot} from './snapshot-stream.ts';

const exportQuery = wireType(ExportQuery);
const importQuery = wireType(ImportQuery);

export const bulk: Handlers<Extract<Operation, `imports.${string}` | 'exports.run'>> = {
  'imports.run': async (request, {imports}) => {
    if (request.key !== null) {
      const message =
        'an import takes no Idempotency-Key: one with an import_id is gone on with, and nothing of it is made twice';
      throw new ServiceError('op.invalid_input', message);
    }
    return json<'imports.run'>(await imports.take(decodeQuery(importQuery, request.query), bodyOf(request)));
  },
  'exports.run': ({query}, tenant) => {
    const {table = null} = decodeQuery(exportQuery, query);
    let cut = 0;
    const make = () =>
      exportPieces(tenant.path, table, sequence => {
        cut = sequence;
      });
    return fromSnapshot(tenant, make, () => [
      ['content-type', 'application/x-ndjson'],
      ['x-svc-sequence', String(cut)],
    ]);
  },
  'imports.list': (_, {reader, imports}) => {
    reader.inSnapshot();
    return json<'imports.list'>({imports: imports.list()});
  },
  'imports.get': ({params}, {reader, imports}) => {
    reader.inSnapshot();
    return json<'imports.get'>({import: imports.get(params.import_id)});
  },
};

function bodyOf({contentType, incoming}: Pick<Request, 'contentType' | 'incoming'>): ImportBody {
  const [type = ''] = contentType.split(';');
  return {
    type: type.trim().toLowerCase(),
    pieces: incoming === null ? none() : incoming.chunks(),
    cancel: () => incoming?.cancel(),
  };
}

async function* none(): AsyncGenerator<never, void, void> {}
