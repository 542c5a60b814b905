/**
 * The changes that installing a deployment's schema would make, reported to the deployer before anything is changed.
 */
import type {SchemaChangesView, SchemaDefinition} from '../../shared/protocol/functions.ts';
import type {Catalog} from '../storage/catalog.ts';
import {isSame} from './install.ts';

type Index = {name: string; fields: readonly string[]};

export function schemaChanges(catalog: Catalog, schema: SchemaDefinition | null): SchemaChangesView {
  const wanted = new Map((schema?.tables ?? []).map(table => [table.name, table.indexes]));
  const known = [...catalog.tables()];
  const deployed = new Set(known.filter(table => table.deployed !== null).map(({name}) => name));
  const added: string[] = [];
  const dropped: string[] = [];
  for (const [name, indexes] of wanted) {
    const live = catalog.table(name)?.indexes.filter(({state}) => state !== 'dropping') ?? [];
    for (const index of indexes) if (!live.some(other => isSame(other, index))) added.push(shown(name, index));
    for (const index of live) if (!indexes.some(other => isSame(index, other))) dropped.push(shown(name, index));
  }
  for (const {name, indexes} of known) {
    if (!deployed.has(name) || wanted.has(name)) continue;
    for (const index of indexes) if (index.state !== 'dropping') dropped.push(shown(name, index));
  }
  return {
    tables: {
      declared: [...wanted.keys()].filter(name => !deployed.has(name)).sort(),
      undeclared: [...deployed].filter(name => !wanted.has(name)).sort(),
    },
    indexes: {added: added.sort(), dropped: dropped.sort()},
  };
}

function shown(table: string, {name, fields}: Index): string {
  return `${table}.${name} (${fields.join(', ')})`;
}
