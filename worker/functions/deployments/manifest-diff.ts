/** What differs between the manifests of two deployments: functions, schema, routes and auth providers. */
import type {
  AuthProvider,
  DeploymentDiff,
  FunctionEntry,
  HttpRoute,
  Manifest,
} from '../../../shared/protocol/functions.ts';

export type Changed<T> = {change: 'added' | 'removed' | 'changed'; before: T | null; after: T | null};

export function manifestDiff(
  before: Manifest,
  after: Manifest,
): Pick<DeploymentDiff, 'functions' | 'tables' | 'indexes' | 'routes' | 'auth_providers'> {
  const functions = changes(before.functions, after.functions, ({path}) => path, identityOf);
  const tables = changes(
    tablesOf(before),
    tablesOf(after),
    ({name}) => name,
    ({checked}) => checked,
  );
  const indexes = changes(indexesOf(before), indexesOf(after), nameOf, ({fields}) => fields.join());
  const routes = changes(
    before.routes ?? [],
    after.routes ?? [],
    route => `${route.method} ${pathOf(route)}`,
    () => '',
  );
  const providers = changes(before.authProviders, after.authProviders, issuerOf, provider => JSON.stringify(provider));
  return {
    functions: functions.map(one => ({path: eitherOf(one).path, change: one.change})),
    tables: tables.map(one => ({name: eitherOf(one).name, change: one.change})),
    indexes: indexes.map(one => ({...eitherOf(one), change: one.change})),
    routes: routes.map(one => {
      const route = eitherOf(one);
      return {method: route.method, path: pathOf(route), change: one.change};
    }),
    auth_providers: providers.map(one => ({issuer: issuerOf(eitherOf(one)), change: one.change})),
  };
}

/** @param identity equal if there is no change */
export function changes<T>(
  before: readonly T[],
  after: readonly T[],
  name: (one: T) => string,
  identity: (one: T) => string,
): Changed<T>[] {
  const old = new Map(before.map(one => [name(one), one]));
  const found: Changed<T>[] = [];
  for (const one of after) {
    const was = old.get(name(one));
    old.delete(name(one));
    if (was === undefined) found.push({change: 'added', before: null, after: one});
    else if (identity(was) !== identity(one)) found.push({change: 'changed', before: was, after: one});
  }
  for (const one of old.values()) found.push({change: 'removed', before: one, after: null});
  return found;
}

/** That of the second, if it is there. */
export function eitherOf<T>({before, after}: Changed<T>): T {
  return (after ?? before)!;
}

function identityOf({kind, visibility, args, returns, hash}: FunctionEntry): string {
  return JSON.stringify([kind, visibility, args, returns, hash]);
}

function tablesOf({schema}: Manifest): {name: string; checked: string}[] {
  if (schema === null) return [];
  const {tables, schemaValidation} = schema;
  return tables.map(({name, document}) => ({name, checked: JSON.stringify([schemaValidation, document])}));
}

type Index = Omit<DeploymentDiff['indexes'][number], 'change'>;

function indexesOf({schema}: Manifest): Index[] {
  return (schema?.tables ?? []).flatMap(({name: table, indexes}) =>
    indexes.map(({name, fields}) => ({table, name, fields})),
  );
}

function nameOf({table, name}: Index): string {
  return `${table}.${name}`;
}

function pathOf({path, pathPrefix}: HttpRoute): string {
  return path ?? `${pathPrefix}*`;
}

function issuerOf(provider: AuthProvider): string {
  return provider.type === 'oidc' ? provider.domain : provider.issuer;
}
