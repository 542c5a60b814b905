/** Shell blocks of pages that no test runs, and why. A block is named by how it begins. */
export const NOT_RUN: Record<string, Record<string, string>> = {
  '../README.md': {
    'npx -y -p node@22 -c "npm ci && npm start"': '.ci/run runs it in a fresh clone',
    'npx -y -p node@22 -c "npm ci && npm test"': '.ci/run runs it in a fresh clone',
    'npx -y -p node@22 -c "npm run chat"': 'runs until it is interrupted; test/e2e/chat.test.ts opens the same example',
  },
  '../CONTRIBUTING.md': {'npm ci ': 'npm commands; .ci/run runs those that matter'},
  '../examples/chat/README.md': {'npm ci && npm run chat': 'runs until it is interrupted'},
  '../examples/cluster/README.md': {
    'npm ci && npm run cluster': 'runs until it is interrupted; test/cluster/local-cluster.test.ts runs the command',
  },
  '../examples/tickets/README.md': {'npm ci && npm run tickets': 'runs until it is interrupted'},
  '../examples/todo/README.md': {
    'npm ci && npm run todo': 'runs until it is interrupted; test/e2e/todo.test.ts runs the command',
    'npm start ': 'runs until it is interrupted; test/e2e/todo.test.ts does the same',
  },
  'bench.md': {
    'npx -y -p node@22 -c "npm run bench"': 'takes many minutes',
    'npx -y -p node@22 -c "npm run bench:builds -- ../before/dist/cli.js"': 'needs another build, and takes minutes',
    'npx -y -p node@22 -c "npm run bench:takeovers"': 'takes ten minutes',
    'npx -y -p node@22 -c "npm run soak"': 'takes an hour',
  },
  'cli.md': {
    'git clone REPOSITORY': 'test/cli/package.nightly.test.ts builds a copy of the sources, packs and installs it',
  },
  'cluster.md': {
    'npm run cluster': 'runs until it is interrupted; test/cluster/local-cluster.test.ts runs the command',
    'for host in': 'needs three machines; test/cluster/init.test.ts runs NATS with the files',
    'apt-get install nats-server': 'needs systemd; test/docs/deploy-files.test.ts checks the files',
    'export $(grep SVC_ACCESS_TOKEN=': 'needs a cluster; test/cli/cluster-verbs.test.ts runs the commands',
    'svc cluster drain b': 'needs a cluster; test/cli/cluster-verbs.test.ts runs the command',
    'set -a; . /etc/svc/cluster/svc.env':
      'needs a cluster; test/cluster/init.test.ts and test/cluster/adopt.test.ts run the commands',
    'svc cluster base acme': 'needs a cluster; test/cluster/rebuild.test.ts runs the command',
    'svc cluster rebuild': 'needs a cluster; test/cluster/rebuild.test.ts runs the command',
    'svc cluster forget d': 'needs a cluster; test/cluster/init.test.ts runs the command',
    'svc cluster move acme b': 'needs a cluster; test/cli/cluster-verbs.test.ts runs the commands',
  },
  'live-queries.md': {'npx -y wscat': 'needs a package that is not installed; test/ws speaks the protocol'},
  'operating.md': {
    'install -d -m 700 /var/lib/svc': 'needs systemd',
    'export SVC_DOMAIN': 'needs a container engine; test/docs/deploy-files.test.ts checks the files',
    'docker build -f deploy/Containerfile': 'needs a container engine; test/docs/deploy-files.test.ts checks the line',
  },
  'moving-from-convex.md': {'svc init --compat': 'test/compat/libraries.test.ts runs it; npm install needs a registry'},
  'tour.md': {
    'npx -y -p node@22 -c "npm run demo"': 'imports a package of 135,000 cities',
    'npx -y -p node@22 -c "npm run demo:live"': 'runs until it is interrupted',
    'npx -y -p node@22 -c "npm run chat"': 'runs until it is interrupted; test/e2e/chat.test.ts opens the same example',
    "curl -sS -w '\\n' $URL/svc/chat/query": 'needs the chat example; the same lines of its README are run',
  },
  'upgrading.md': {'cd /opt/svc': 'fetches another version; test/upgrades has directories of all of them'},
  'react.md': {'svc dev --local': 'runs until it is interrupted; test/functions/cli runs svc dev --local'},
};
