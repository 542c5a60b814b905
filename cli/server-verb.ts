/** A verb that goes to a server and not to a project: it opens the connection and closes it. */
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
