/** There is no full-text search: it can be imported and named, and fails by name when it is used. */
export class SearchFilter {
  constructor() {
    throw new Error('SearchFilter is not supported: there is no full-text search');
  }
}
