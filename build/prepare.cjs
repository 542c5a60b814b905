// npm runs this after it has fetched svc from git, and in a clone after `npm ci`. Only the first has to build: in a
// clone, `npm start`, `npm test` and `npm pack` build. It must parse under any Node.
var path = require('node:path');

var root = path.resolve(__dirname, '..');
var from = path.relative(root, process.env.INIT_CWD || root);
var isInClone = !from.startsWith('..') && !path.isAbsolute(from);
if (!isInClone) {
  require('./check-node.cjs');
  require('node:child_process').execFileSync('npm', ['run', '--silent', 'build'], {cwd: root, stdio: 'inherit'});
}
