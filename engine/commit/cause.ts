/** What causes a write. Its journal record has it as `cause`. */
import type {JournalCause} from '../../shared/protocol/journal.ts';

/** JSON leaves out members that are undefined. */
export type Cause = {readonly kind: JournalCause['kind']} & {
  readonly [member in Exclude<keyof JournalCause, 'kind'>]?: string | undefined;
};

/** The cause of writes that no request, function or schedule asked for. */
export const SYSTEM: Cause = {kind: 'system'};
