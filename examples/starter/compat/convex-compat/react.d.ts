export * from 'svc/compat/react';
