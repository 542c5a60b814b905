/**
 * `npm run demo:write [-- --url URL --data DIR --country CH --times 20]`: people move between the largest cities of a country
 * in tenant `atlas`, a few times a second. What `npm run demo:live` shows changes with every write.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {Command} from 'commander';
import {addServerOptions, type ServerOptions, ServiceClient, tenantPath} from '../../cli/client.ts';
import {CommandFailure, reportFailure} from '../../cli/failure.ts';

type Options = ServerOptions & {country: string; times: string};
type City = {_id: string; name: string; population: number};

const PAUSE_MS = 400;
const CITIES = 12;

const command = addServerOptions(new Command('demo:write'))
  .option('--country <code>', 'whose cities', 'JP')
  .option('--times <count>', 'how many moves', '30')
  .action((options: Options) => reportFailure('demo:write', () => move(options)));
await command.parseAsync();

async function move(options: Options): Promise<void> {
  const client = await ServiceClient.open(options, 1);
  try {
    const {data: cities} = await client.json<{data: City[]}>('POST', `${tenantPath('atlas')}/query`, {
      table: 'cities',
      filters: [{field: 'country', op: 'eq', value: options.country}],
      order: {field: 'population', direction: 'desc'},
      limit: CITIES,
    });
    if (cities.length < 2) throw new CommandFailure(`there are no cities of ${options.country}; run the demo first`);
    for (let i = 0; i < Number(options.times); i++) {
      const city = cities[Math.floor(Math.random() * cities.length)]!;
      const change = Math.round(city.population * (Math.random() - 0.5) * 0.4);
      city.population += change;
      const path = tenantPath('atlas', 'documents', 'cities', city._id);
      await client.json('PATCH', path, {patch: {population: city.population}});
      process.stdout.write(
        `${city.name} ${change < 0 ? 'loses' : 'gains'} ${Math.abs(change).toLocaleString('en')} people\n`,
      );
      await delay(PAUSE_MS);
    }
  } finally {
    await client.close();
  }
}
