import {defineSchema, defineTable} from 'svc/server';
import {v} from 'svc/values';

export default defineSchema({
  marks: defineTable({group: v.string(), n: v.number()}).index('by_group', ['group', 'n']),
});
