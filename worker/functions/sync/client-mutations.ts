/** Mutations of clients on sockets. */
import type {ClientMessage} from '../../../shared/protocol/function-socket/client-message.ts';
import type {Functions} from '../functions.ts';
import type {MutationOutcome} from './session-calls.ts';

export type MutationCall = Extract<ClientMessage, {type: 'mutation'}>;

export class ClientMutations {
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  /** @throws ServiceError when the service cannot run it now */
  async run(
    _clientId: string,
    {path, args}: MutationCall,
    identity: string | null,
    requestId: string,
  ): Promise<MutationOutcome> {
    let ts = 0;
    const result = await this.#functions.call({
      path,
      args,
      kind: 'mutation',
      origin: 'client',
      caller: {identity},
      requestId,
      within: (writer, run) => {
        const ran = run();
        ts = writer.effectSequence;
        return ran;
      },
    });
    return {result, ts};
  }
}
