/** What tests use of s3rver, which has no types. */
declare module 's3rver' {
  type Options = {
    address: string;
    port: number;
    silent: boolean;
    directory: string;
    vhostBuckets: boolean;
    configureBuckets: {name: string}[];
  };
  export default class S3rver {
    constructor(options: Options);
    run(): Promise<{port: number}>;
    httpServer: import('node:http').Server;
  }
}
