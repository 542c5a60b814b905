/** Pushes a project to its tenant: generated code, types, bundle, upload. It reports each step on stderr. */
import {randomUUID} from 'node:crypto';
import type {DeploymentError, DeploymentView, SchemaChangesView} from '../../shared/protocol/functions.ts';
import {RefusedRequest} from '../client.ts';
import {bundle} from './bundle.ts';
import {generateCode} from './codegen.ts';
import {telling} from './deploy-progress.ts';
import {originalSources} from './original-sources.ts';
import {sendPackages} from './package-tarballs.ts';
import {ProjectFailure} from './project-failure.ts';
import {ask, type Target} from './target.ts';
import {type TypecheckMode, typecheck} from './typecheck.ts';

export type PushOptions = {
  typecheck: TypecheckMode;
  message: string | null;
  dryRun: boolean;
  /** A deploy made by svc dev. */
  development?: boolean;
};

export type Pushed = {
  /** Null: a dry run. */
  deployment: DeploymentView | null;
  functions: number;
  /** Its changes in addition to the code, one line each. */
  changes: string[];
  /** The project's own files in the bundle, relative to its root. */
  sources: string[];
};

/** @throws ProjectFailure, CommandFailure */
export async function push(target: Target, options: PushOptions, say: (text: string) => void): Promise<Pushed> {
  const {project} = target;
  const written = await generateCode(project.root);
  if (written.length > 0) say(`generated ${written.join(', ')}`);
  // The bundler reports code that cannot be bundled: the compiler's advice for it would be wrong.
  const {upload, sources, warnings, packages} = await bundle(project, options);
  const skipped = await typecheck(project, options.typecheck);
  say(skipped === null ? 'types fit' : `types were not checked: ${skipped}`);
  for (const warning of warnings) say(`warning: ${warning}`);
  const bytes = upload.files.reduce((sum, {source}) => sum + source.length, 0);
  const modules = upload.modules.length === 1 ? '1 module' : `${upload.modules.length} modules`;
  say(`bundled ${modules}, ${(bytes / 1024).toFixed(1)} KiB`);
  const originals = await originalSources(project.root, sources);
  if (originals === null) say('warning: the sources are too large to be shown beside the deployment');
  const body = {...upload, sources: originals ?? []};
  await sendPackages(target, packages, say);
  try {
    // The server builds indexes of large tables before it answers: this has no timeout and must happen only once.
    const requestId = randomUUID();
    const reply = await telling(target, requestId, say, () =>
      ask(target, 'deployments.create', [], {body, headers: {'x-request-id': requestId}, repeat: 'once'}),
    );
    const changes = changeLines(reply.changes);
    if ('dry_run' in reply) return {deployment: null, functions: reply.functions.length, changes, sources};
    return {deployment: reply, functions: reply.functions, changes, sources};
  } catch (caught) {
    throw refusedDeployment(caught);
  }
}

/** Readable for a dry run as well as for a deploy: `+ index messages.by_author (author)`. */
export function changeLines(changes: SchemaChangesView | undefined): string[] {
  if (changes === undefined) return []; // an older server that does not report changes
  const {tables, indexes} = changes;
  return [
    ...tables.declared.map(name => `+ table ${name}`),
    ...tables.undeclared.map(name => `- table ${name} (its documents stay, and are not checked any more)`),
    ...indexes.added.map(index => `+ index ${index}`),
    ...indexes.dropped.map(index => `- index ${index}`),
  ];
}

/** The server's list of errors, formatted like the bundler's. */
function refusedDeployment(caught: unknown): unknown {
  if (!(caught instanceof RefusedRequest)) return caught;
  const {errors} = caught.detail as {errors?: DeploymentError[]};
  return Array.isArray(errors) && errors.length > 0 ? new ProjectFailure(errors) : caught;
}
