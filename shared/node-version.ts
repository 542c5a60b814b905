/**
 * The versions of Node that modules with `"use node"` can request, by `node.nodeVersion` of svc.json. (spec, Node
 * runtime)
 */
export const NODE_VERSIONS = ['20', '22', '24', '26'] as const;
export type NodeVersion = (typeof NODE_VERSIONS)[number];
export const NODE_VERSION_DEFAULT: NodeVersion = '24';

export function isNodeVersion(value: unknown): value is NodeVersion {
  return (NODE_VERSIONS as readonly unknown[]).includes(value);
}
