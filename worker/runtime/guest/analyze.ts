/**
 * Describes the exports of a deployment's modules to the host, as JSON, during the analysis of a deployment. The host
 * checks all of it, because user code can have tampered with anything here.
 */
type Namespace = Record<string, unknown>;

type Registered = {
  isSvcFunction: true;
  kind: string;
  visibility: string;
  exportArgs(): string;
  exportReturns(): string;
};

/** JSON of [{name, kind, visibility, args, returns}] for the registered functions a module exports. */
export function analyzeModule(namespace: Namespace): string {
  const functions: object[] = [];
  for (const name of Object.keys(namespace)) {
    const value = namespace[name];
    if (!isRegistered(value)) continue;
    const {kind, visibility} = value;
    functions.push({
      name,
      kind,
      visibility,
      args: JSON.parse(value.exportArgs()),
      returns: JSON.parse(value.exportReturns()),
    });
  }
  return JSON.stringify(functions);
}

/** JSON of the schema definition. */
export function analyzeSchema(namespace: Namespace): string {
  if (!('default' in namespace)) throw new Error('Schema file missing default export');
  const schema = namespace.default as {isSvcSchema?: true; export(): string} | null;
  if (schema?.isSvcSchema !== true)
    throw new Error("The default export of svc/schema isn't a svc schema: use defineSchema(…)");
  return schema.export();
}

type Route = {method: string; path: string | null; pathPrefix: string | null; handler: unknown};

/** JSON of [{method, path, pathPrefix}] in the router's order. */
export function analyzeRouter(namespace: Namespace): string {
  if (!('default' in namespace))
    throw new Error('svc/http must have a default export: a router made with httpRouter()');
  const router = namespace.default as {isSvcRouter?: true; _routes(): Route[]} | null;
  if (router?.isSvcRouter !== true) throw new Error('The default export of svc/http is not a Router: use httpRouter()');
  return JSON.stringify(
    router._routes().map(({method, path, pathPrefix, handler}) => {
      if (!isRegistered(handler) || handler.kind !== 'httpAction') {
        throw new Error(`The handler of ${method} ${path ?? `${pathPrefix}*`} was not made with httpAction(…)`);
      }
      return {method, path, pathPrefix};
    }),
  );
}

/** JSON of the providers, unchanged. */
export function analyzeAuthConfig(namespace: Namespace): string {
  const config = namespace.default as {providers?: unknown} | null | undefined;
  if (!Array.isArray(config?.providers)) throw new Error('svc/auth.config must have a default export {providers: […]}');
  return JSON.stringify(config.providers);
}

function isRegistered(value: unknown): value is Registered {
  return typeof value === 'function' && (value as Partial<Registered>).isSvcFunction === true;
}
