/** Runs a verb that targets a server instead of a project. It opens the connection and closes it. */
import {type ServerOptions, ServiceClient} from './client.ts';
import {reportFailure} from './failure.ts';

export function atServer(
  verb: string,
  options: ServerOptions,
  act: (client: ServiceClient) => Promise<void>,
): Promise<void> {
  return reportFailure(`svc ${verb}`, async () => {
    const client = await ServiceClient.open(options, 1);
    try {
      await act(client);
    } finally {
      await client.close();
    }
  });
}
