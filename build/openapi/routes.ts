/**
 * Lists every method and path of the document with the facts of its row. A route for any method appears once for each
 * method that a path item can have.
 */
import {
  OPERATIONS,
  type Operation,
  type OperationTraits,
  PATH_PREFIX,
  ROUTER_OPERATIONS,
  type RouterOperation,
  type RouterOperationTraits,
  traitsOf,
} from '../../shared/operations.ts';

export type Name = Operation | RouterOperation;

export type DescribedRoute = {
  readonly name: Name;
  /** Unique in the document. */
  readonly id: string;
  /** Lower case. */
  readonly method: string;
  /** With parameters as `{name}`. */
  readonly path: string;
  readonly access: RouterOperationTraits['access'];
  readonly success: number;
  readonly variants: Readonly<Record<string, number>>;
  readonly takesBody: boolean;
  /** The literal that stands for the operation's parameter, if the operation has several routes. */
  readonly parameter: string | null;
  /** Null: a router answers. */
  readonly traits: OperationTraits | null;
};

const ANY_METHOD = ['get', 'post', 'put', 'patch', 'delete', 'options'];
const WITH_BODY = ['post', 'put', 'patch'];

export function describedRoutes(): DescribedRoute[] {
  return [
    ...(Object.keys(ROUTER_OPERATIONS) as RouterOperation[]).map(routersRoute),
    ...(Object.keys(OPERATIONS) as Operation[]).flatMap(workersRoutes),
  ];
}

function routersRoute(name: RouterOperation): DescribedRoute {
  const {method, path, access, success, variants = {}}: RouterOperationTraits = ROUTER_OPERATIONS[name];
  const lower = method.toLowerCase();
  const takesBody = WITH_BODY.includes(lower);
  return {name, id: name, method: lower, path, access, success, variants, takesBody, parameter: null, traits: null};
}

function workersRoutes(name: Operation): DescribedRoute[] {
  const traits = traitsOf(name);
  const {of, routes, success, variants = {}, hasCors = false, streamedBytesMax} = traits;
  return routes.flatMap(({method, path, parameter = null}) => {
    const common = {
      name,
      path: `${PATH_PREFIX[of]}${path.replace('{*', '{')}`,
      access: of === 'deployment' ? ('deployment' as const) : ('admin' as const),
      success,
      variants,
      parameter,
      traits,
    };
    const id = parameter === null ? name : `${name}.${parameter === '/' ? 'root' : parameter}`;
    if (method === '*') {
      const takesBody = streamedBytesMax !== undefined;
      return ANY_METHOD.map(any => ({...common, id: `${id}.${any}`, method: any, takesBody}));
    }
    const lower = method.toLowerCase();
    const route = {...common, id, method: lower, takesBody: WITH_BODY.includes(lower)};
    return hasCors ? [route, preflightOf(route)] : [route];
  });
}

function preflightOf({path, id}: DescribedRoute): DescribedRoute {
  const name = 'functions.preflight';
  const traits = traitsOf(name);
  return {
    name,
    id: `${id}.preflight`,
    method: 'options',
    path,
    access: 'deployment',
    success: traits.success,
    variants: {},
    takesBody: false,
    parameter: null,
    traits,
  };
}
