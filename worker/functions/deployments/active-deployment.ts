/** The deployment in use: its functions by path, with validators compiled on first use. */

import type {DeploymentRow} from '../../../engine/storage/statements.ts';
import type {FunctionEntry, Manifest} from '../../../shared/protocol/functions.ts';
import {type Check, compileValidator, type IdCheck} from '../../../shared/values/validate.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';
import type {FunctionTable} from '../../runtime/call.ts';

export class ActiveDeployment implements FunctionTable {
  readonly id: number;
  readonly manifest: Manifest;
  readonly byPath: ReadonlyMap<string, FunctionEntry>;
  /** Path in the bundle → hash of the stored code. */
  readonly files: ReadonlyMap<string, string>;
  /** The deployment timestamp, epoch milliseconds. */
  readonly timestampMs: number;
  readonly seed: string;
  readonly #ids: IdCheck;
  readonly #args = new Map<string, Check>();
  readonly #returns = new Map<string, Check>();

  constructor({id, manifest, files, modified_ms, seed}: DeploymentRow, ids: IdCheck) {
    this.id = id;
    this.manifest = JSON.parse(manifest) as Manifest;
    this.byPath = new Map(this.manifest.functions.map(entry => [entry.path, entry]));
    this.files = new Map(
      (JSON.parse(files) as {path: string; sha256: string}[]).map(({path, sha256}) => [path, sha256]),
    );
    this.timestampMs = modified_ms;
    this.seed = seed;
    this.#ids = ids;
  }

  argsValidator(entry: FunctionEntry): Check | null {
    return this.#compiled(this.#args, entry.path, entry.args);
  }

  returnsValidator(entry: FunctionEntry): Check | null {
    return this.#compiled(this.#returns, entry.path, entry.returns);
  }

  #compiled(known: Map<string, Check>, path: string, json: ValidatorJson | null): Check | null {
    if (json === null) return null;
    let check = known.get(path);
    if (check === undefined) {
      check = compileValidator(json, this.#ids);
      known.set(path, check);
    }
    return check;
  }
}
