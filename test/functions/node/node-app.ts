/** What projects with `"use node"` modules need besides. */

/** The project's svc.json, among the files of an app. */
export function onNode(nodeVersion: string, externalPackages?: string[]): Record<string, string> {
  const node = {nodeVersion, ...(externalPackages === undefined ? {} : {externalPackages})};
  return {'../svc.json': JSON.stringify({node})};
}
