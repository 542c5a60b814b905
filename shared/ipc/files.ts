/** The requests of routers about files of tenants, which they write into a directory of the server. */

/** `live`: it runs at once; otherwise it is paused and answers reads. */
export type FileAdoption = {tenant: string; replace: boolean; live: boolean};

/** Answered with the body of the route's response once the copy is served. */
export type CloneRequest = {action: 'tenant_clone'; tenant: string; as: string; live: boolean};

export type FileRequest =
  /** Answered with the id of the upload, and the path to write it to. */
  | ({action: 'file_expected'} & FileAdoption)
  /** It is complete; answered with the body of the route's response once the tenant is served. */
  | ({action: 'file_arrived'; upload: string} & FileAdoption)
  /** It is not going to be complete. */
  | {action: 'file_dropped'; upload: string};
