/** Writes of single documents. Each is sent with the version that was shown, and its toast undoes it. */
import {useQueryClient} from '@tanstack/react-query';
import {useState} from 'react';
import {call, callRaw} from '../../api/client.ts';
import {ApiFailure, messageOf} from '../../api/failure.ts';
import {showToast} from '../../parts/toast.tsx';
import {type Fields, ownFields, patchOf, versionOf} from './document-edit.ts';
import {outlasting} from './outlasting.ts';
import type {Doc} from './row-order.ts';
import {sendLines} from './transfer/send-lines.ts';

const CONFLICT = 412;

/** An edit that the server refused because the document had changed. */
export type Conflict = {
  /** The document that was edited. */
  readonly base: Doc;
  readonly mine: Fields;
  readonly theirs: Doc;
};

export type Edits = {
  readonly conflict: Conflict | null;
  /** @returns whether the document now has these fields */
  save(base: Doc, fields: Fields): Promise<boolean>;
  insert(fields: Fields): Promise<string | null>;
  remove(doc: Doc): Promise<boolean>;
  /** Makes a deleted document again, with its id. */
  restore(doc: Doc): Promise<boolean>;
  /** Saves the edit of a conflict on top of the document that the other writer left. */
  resolve(fields: Fields): Promise<void>;
  dismiss(): void;
};

export function useEdits(tenant: string, table: string): Edits {
  const client = useQueryClient();
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const refresh = () => client.invalidateQueries({queryKey: ['query.count', {tenant}]});
  const failed = (error: unknown) => showToast(messageOf(error), {tone: 'bad'});

  async function save(base: Doc, fields: Fields): Promise<boolean> {
    try {
      const version = await patch(tenant, table, base._id, versionOf(base), ownFields(base), fields);
      if (version === null) return true;
      showToast('Saved', {
        undo: () => void patch(tenant, table, base._id, version, fields, ownFields(base)).catch(failed),
      });
      setConflict(null);
      return true;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== CONFLICT) failed(error);
      else await showConflict(base, fields);
      return false;
    }
  }

  async function showConflict(base: Doc, mine: Fields): Promise<void> {
    try {
      const params = {table, document_id: base._id};
      const {document} = await call('documents.get', {tenant, params});
      setConflict({base, mine, theirs: document as unknown as Doc});
    } catch (error) {
      failed(error);
    }
  }

  async function insert(fields: Fields): Promise<string | null> {
    try {
      const {id} = await outlasting(headers => call('documents.insert', {tenant, body: {table, fields}}, {headers}));
      const undo = () => call('documents.delete', {tenant, params: {table, document_id: id}});
      showToast('Inserted', {undo: () => void undo().then(refresh, failed)});
      void refresh();
      return id;
    } catch (error) {
      failed(error);
      return null;
    }
  }

  async function remove(doc: Doc): Promise<boolean> {
    try {
      const version = {'If-Match': `"${versionOf(doc)}"`};
      const params = {table, document_id: doc._id};
      await outlasting(headers => call('documents.delete', {tenant, params}, {headers: {...version, ...headers}}));
      showToast('Deleted', {undo: () => void putBack(doc).then(refresh, failed)});
      void refresh();
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  /** An import can put a document back under an id that the server made. */
  function putBack(doc: Doc): Promise<unknown> {
    return sendLines(tenant, {table, mode: 'own_ids'}, JSON.stringify({...ownFields(doc), _id: doc._id}));
  }

  async function restore(doc: Doc): Promise<boolean> {
    try {
      await putBack(doc);
      const undo = () => call('documents.delete', {tenant, params: {table, document_id: doc._id}});
      showToast('Put back', {undo: () => void undo().then(refresh, failed)});
      void refresh();
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  return {
    conflict,
    save,
    insert,
    remove,
    restore,
    resolve: async fields => {
      if (conflict !== null) await save(conflict.theirs, fields);
    },
    dismiss: () => setConflict(null),
  };
}

/** @returns the version after the patch; null: there was nothing to change @throws ApiFailure */
async function patch(
  tenant: string,
  table: string,
  id: string,
  version: string,
  before: Fields,
  after: Fields,
): Promise<string | null> {
  const body = patchOf(before, after);
  if (body === null) return null;
  const input = {tenant, params: {table, document_id: id}, body};
  const response = await outlasting(headers =>
    callRaw('documents.patch', input, {headers: {'If-Match': `"${version}"`, ...headers}}),
  );
  return response.headers.get('etag')?.replaceAll(/^(?:W\/)?"|"$/g, '') ?? version;
}
