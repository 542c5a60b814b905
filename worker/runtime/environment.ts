/** Environment variables of a tenant: its functions see them as `process.env`, from the next call on. */
import {Buffer} from 'node:buffer';
import type {Cause} from '../../engine/commit/cause.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {storageDamaged} from '../../engine/storage/damage.ts';
import {isSoundRow, rowChecksum, rowDamage} from '../../engine/storage/row-checksum.ts';
import {invalid, notFound, rateLimited, type ServiceError} from '../../shared/errors.ts';
import {ENVIRONMENT_NAME_CHARS_MAX, ENVIRONMENT_VALUE_BYTES_MAX} from '../../shared/limits.ts';
import {ENVIRONMENT_VARIABLES_MAX} from './limits.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

export class Environment {
  readonly #groups: CommitGroups;
  /** Every change replaces the whole object, so an execution keeps the variables it began with. */
  #variables: Variables;

  constructor(writer: Writer, groups: CommitGroups) {
    this.#groups = groups;
    this.#variables = read(writer);
  }

  /** @throws op.storage_damaged 503 while a variable is damaged: it can be set again or deleted */
  get current(): Readonly<Record<string, string>> {
    if (this.#variables.damage !== null) throw this.#variables.damage;
    return this.#variables.sound;
  }

  /** Whether these are the variables that `current` returns now. */
  isCurrent(variables: Readonly<Record<string, string>>): boolean {
    return this.#variables.damage === null && this.#variables.sound === variables;
  }

  /** @throws op.not_found 404 */
  get(name: string): string {
    const value = Object.hasOwn(this.current, name) ? this.current[name] : undefined;
    if (value === undefined) throw notSet(name);
    return value;
  }

  /** @throws op.invalid_input 400; op.rate_limited 429 if there are too many */
  async set(name: string, value: string, cause?: Cause): Promise<void> {
    checkName(name);
    if (!value.isWellFormed() || Buffer.byteLength(value) > ENVIRONMENT_VALUE_BYTES_MAX) {
      throw invalid(`a value is text of at most ${ENVIRONMENT_VALUE_BYTES_MAX} bytes`);
    }
    await this.#change(writer => {
      const known = read(writer).sound; // others can be set in the same group
      if (!Object.hasOwn(known, name) && Object.keys(known).length >= ENVIRONMENT_VARIABLES_MAX) {
        throw rateLimited(`a tenant has at most ${ENVIRONMENT_VARIABLES_MAX} variables`);
      }
      writer.statements.setVariable.run(name, value, rowChecksum('environment', {name, value}));
      writer.event({type: 'environment.set', name});
    }, cause);
  }

  /** @throws op.not_found 404 */
  delete(name: string, cause?: Cause): Promise<void> {
    return this.#change(writer => {
      if (writer.statements.deleteVariable.run(name).changes === 0) throw notSet(name);
      writer.event({type: 'environment.deleted', name});
    }, cause);
  }

  /** Readers see the change once it is committed. */
  async #change(change: (writer: Writer) => void, cause?: Cause): Promise<void> {
    this.#variables = await this.#groups.perform(writer => {
      change(writer);
      return read(writer);
    }, cause);
  }
}

type Variables = {sound: Readonly<Record<string, string>>; damage: ServiceError | null};

function read(writer: Writer): Variables {
  const sound = Object.create(null) as Record<string, string>;
  let damage: ServiceError | null = null;
  for (const row of writer.statements.environment.all()) {
    if (isSoundRow('environment', row)) sound[row.name] = row.value;
    else damage = storageDamaged(rowDamage('environment', row));
  }
  return {sound, damage};
}

function checkName(name: string): void {
  if (NAME.test(name) && name.length <= ENVIRONMENT_NAME_CHARS_MAX) return;
  throw invalid(
    `a variable's name is a letter, then letters, digits and _, at most ${ENVIRONMENT_NAME_CHARS_MAX} characters`,
  );
}

function notSet(name: string): ServiceError {
  return notFound(`the variable ${JSON.stringify(name.slice(0, 64))} is not set`);
}
