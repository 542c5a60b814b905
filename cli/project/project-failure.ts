/**
 * The error for everything that is wrong with a project, reported at once: each problem with its file and line, in a
 * form that editors and terminals turn into links (`svc/messages.ts:3:12: …`).
 */
import type {DeploymentError} from '../../shared/protocol/functions.ts';
import {CommandFailure} from '../failure.ts';

/**
 * `file` is relative to the project, `svc/messages.ts`; `line` and `column` count from 1. Missing members are unknown.
 */
export type Problem = Pick<DeploymentError, 'message'> & Partial<DeploymentError> & {column?: number | null};

export class ProjectFailure extends CommandFailure {
  override name = 'ProjectFailure';
  /** In the form in which a server reports the errors of a refused deployment. */
  readonly errors: readonly DeploymentError[];
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(listed(problems));
    this.problems = problems;
    this.errors = problems.map(({message, file = null, line = null}) => ({message, file, line}));
  }
}

/** A problem of the project as a whole. */
export function projectFailure(message: string, file?: string): ProjectFailure {
  return new ProjectFailure([{message, file: file ?? null}]);
}

export function described({message, file, line, column}: Problem): string {
  const place = [file, line, column].filter(part => part !== null && part !== undefined);
  return place.length === 0 ? message : `${place.join(':')}: ${message}`;
}

function listed(problems: readonly Problem[]): string {
  const lines = problems.map(described);
  return lines.length === 1 ? lines[0]! : [`${lines.length} errors`, ...lines].join('\n');
}
