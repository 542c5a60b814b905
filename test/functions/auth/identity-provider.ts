/** A real identity provider on a loopback port: metadata and keys over HTTP, and tokens signed with its keys. */
import {createServer, type RequestListener, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWK, type JWTPayload, SignJWT} from 'jose';

export type Answer = {status?: number; type?: string; body: string};

export class IdentityProvider {
  readonly #server: Server;
  readonly pair: GenerateKeyPairResult;
  readonly algorithm: string;
  /** What is answered for a path; tests change it. */
  readonly answers = new Map<string, Answer>();
  /** Paths in the order they were asked for. */
  readonly asked: string[] = [];

  private constructor(server: Server, pair: GenerateKeyPairResult, algorithm: string) {
    this.#server = server;
    this.pair = pair;
    this.algorithm = algorithm;
  }

  static async start(algorithm = 'RS256', keyId = 'key-1'): Promise<IdentityProvider> {
    let answer: RequestListener = () => {};
    const server = createServer((request, response) => answer(request, response));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const provider = new IdentityProvider(server, await generateKeyPair(algorithm, {extractable: true}), algorithm);
    answer = (request, response) => provider.#answer(request.url!, response);
    provider.answers.set('/.well-known/openid-configuration', {
      body: JSON.stringify({issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks`}),
    });
    provider.serveKeys([{...(await exportJWK(provider.pair.publicKey)), kid: keyId, alg: algorithm, use: 'sig'}]);
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  serveKeys(keys: JWK[]): void {
    this.answers.set('/jwks', {body: JSON.stringify({keys})});
  }

  async publicJwk(): Promise<JWK> {
    return exportJWK(this.pair.publicKey);
  }

  /** A token of this provider. A claim of `undefined` is left out. */
  async token(claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({alg: this.algorithm, kid: 'key-1', typ: 'JWT', ...header})
      .sign(this.pair.privateKey);
  }

  #answer(url: string, response: Parameters<RequestListener>[1]): void {
    this.asked.push(url);
    const answer = this.answers.get(url) ?? {status: 404, body: 'not here'};
    response.writeHead(answer.status ?? 200, {'content-type': answer.type ?? 'application/json'});
    response.end(answer.body);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }
}
