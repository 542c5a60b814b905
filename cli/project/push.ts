/** Brings a project to its tenant: generated code, types, bundle, upload. Each step is told on stderr. */
import {randomUUID} from 'node:crypto';
import type {DeploymentError, DeploymentView, SchemaChangesView} from '../../shared/protocol/functions.ts';
import {RefusedRequest} from '../client.ts';
import {bundle} from './bundle.ts';
import {generateCode} from './codegen.ts';
import {telling} from './deploy-progress.ts';
import {sendPackages} from './package-tarballs.ts';
import {ProjectFailure} from './project-failure.ts';
import {pathOf, type Target} from './target.ts';
import {type TypecheckMode, typecheck} from './typecheck.ts';

export type PushOptions = {
  typecheck: TypecheckMode;
  message: string | null;
  dryRun: boolean;
  /** It is one of many, made by svc dev. */
  development?: boolean;
};

export type Pushed = {
  /** Null: a dry run. */
  deployment: DeploymentView | null;
  functions: number;
  /** What it changes beside the code, a line each. */
  changes: string[];
  /** The project's own files that are in it, relative to its root. */
  sources: string[];
};

/** @throws ProjectFailure, CommandFailure */
export async function push(target: Target, options: PushOptions, say: (text: string) => void): Promise<Pushed> {
  const {project, client} = target;
  const written = await generateCode(project.root);
  if (written.length > 0) say(`generated ${written.join(', ')}`);
  // What cannot be bundled is said by the bundler: the compiler's advice for it would be wrong.
  const {upload, sources, warnings, packages} = await bundle(project, options);
  const skipped = await typecheck(project, options.typecheck);
  say(skipped === null ? 'types fit' : `types were not checked: ${skipped}`);
  for (const warning of warnings) say(`warning: ${warning}`);
  const bytes = upload.files.reduce((sum, {source}) => sum + source.length, 0);
  const modules = upload.modules.length === 1 ? '1 module' : `${upload.modules.length} modules`;
  say(`bundled ${modules}, ${(bytes / 1024).toFixed(1)} KiB`);
  await sendPackages(target, packages, say);
  try {
    // Indexes of large tables are built before it answers: that takes as long as it takes, and once is enough.
    const requestId = randomUUID();
    const reply = await telling(target, requestId, say, () =>
      client.jsonOnce<Answer>('POST', pathOf(target, 'deployments'), upload, {'x-request-id': requestId}),
    );
    const changes = changeLines(reply.changes);
    if ('dry_run' in reply) return {deployment: null, functions: reply.functions.length, changes, sources};
    return {deployment: reply, functions: reply.functions, changes, sources};
  } catch (caught) {
    throw refusedDeployment(caught);
  }
}

type Answer = {changes?: SchemaChangesView} & (DeploymentView | {dry_run: true; functions: unknown[]});

/** In the future tense for a dry run as well as in the past: `+ index messages.by_author (author)`. */
function changeLines(changes: SchemaChangesView | undefined): string[] {
  if (changes === undefined) return []; // a server from before it told
  const {tables, indexes} = changes;
  return [
    ...tables.declared.map(name => `+ table ${name}`),
    ...tables.undeclared.map(name => `- table ${name} (its documents stay, and are not checked any more)`),
    ...indexes.added.map(index => `+ index ${index}`),
    ...indexes.dropped.map(index => `- index ${index}`),
  ];
}

/** The server's list of errors, as the bundler's own are shown. */
function refusedDeployment(caught: unknown): unknown {
  if (!(caught instanceof RefusedRequest)) return caught;
  const {errors} = caught.detail as {errors?: DeploymentError[]};
  return Array.isArray(errors) && errors.length > 0 ? new ProjectFailure(errors) : caught;
}
