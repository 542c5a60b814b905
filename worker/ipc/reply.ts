/** What a request is answered: made at the edge, from what the parts behind it return. Those know no HTTP. */
export type Reply = {
  status: number;
  /** JSON; empty for 204. */
  body: string;
};

export const NO_CONTENT: Reply = {status: 204, body: ''};
