// Exits with one clear sentence under a Node version that svc does not support. It must parse under any old Node and
// has no imports, because `npm start`, `npm test` and the svc command run it first.
var parts = process.versions.node.split('.').map(Number);
if (parts[0] !== 22 || parts[1] < 12) {
  console.error(
    'svc needs Node 22 (22.12 or newer) and this is Node ' +
      process.versions.node +
      '; install Node 22, or have npm bring it for one command: npx -y -p node@22 -c "COMMAND"' +
      ' (npm 12: npx -y --allow-scripts=node -p node@22 -c "COMMAND")',
  );
  process.exit(1);
}
